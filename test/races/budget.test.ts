/** What a claim answers has a budget of bytes: what does not fit is left as it is, for another claim. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aWaitFor, branches, type Run, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

const mebibyte = 1024 * 1024;

describeSomePostgres("a claim with a budget of bytes", (database) => {
  const stage = stageOn(database, { breaks: ["positions are dense from 1, and last_position is the last"] });

  /** A history of so many bytes, which its one record need not have. */
  const withHistory = async (run: Run, bytes: number) => {
    await stage.onlooker.query("update layover.run_state set history_bytes = $2, last_position = 1 where run_id = $1", [
      run.id,
      bytes,
    ]);
    return run;
  };
  const claim = async (budgetBytes: number, turns: readonly object[]) => {
    const answer = await stage.onlooker.call("claim_turns", { ...terms, budgetBytes, turns });
    return answer.turns.map(({ outcome }: { outcome: string }) => outcome);
  };

  test("takes as many of the first as fit, escaped, and leaves the rest unleased and uncounted", async () => {
    const runs = [];
    for (let number = 1; number <= 4; number += 1) runs.push(await withHistory(await aRun(stage), mebibyte));
    const turns = runs.map((run) => run.toClaim({ token: run.id }));
    expect(await claim(5 * mebibyte, turns)).toEqual(["claimed", "claimed", "later", "later"]);
    const states = await Promise.all(runs.map((run) => run.state()));
    expect(states.map(({ status }) => status)).toEqual(["running", "running", "parked", "parked"]);
    expect(states[2]).toMatchObject({ token: null, claims: 0, lost: 0, turn: 1, isReady: true });
  });

  test("takes one at least, and all where all fit", async () => {
    const [one, two] = [await withHistory(await aRun(stage), 9 * mebibyte), await aRun(stage)];
    const turns = [one, two].map((run) => run.toClaim({ token: run.id }));
    expect(await claim(mebibyte, turns)).toEqual(["claimed", "later"]);
    const more = [await aRun(stage), await aRun(stage)].map((run) => run.toClaim({ token: run.id }));
    expect(await claim(mebibyte, more)).toEqual(["claimed", "claimed"]);
  });

  test("counts nothing for what the caller holds", async () => {
    const runs = [];
    for (let number = 1; number <= 3; number += 1) runs.push(await withHistory(await aRun(stage), 9 * mebibyte));
    const turns = runs.map((run) => run.toClaim({ token: run.id, have: { epoch: 0, position: 1 } }));
    expect(await claim(mebibyte, turns)).toEqual(["claimed", "claimed", "claimed"]);
  });

  test("counts what came for a run and was not taken", async () => {
    const runs = [];
    for (let number = 1; number <= 2; number += 1) {
      const run = await aParkedRun(stage, [aWaitFor("address")]);
      await run.signal(stage.onlooker, "address", { payload: `0"${"x".repeat(mebibyte / 2)}"` });
      runs.push(run);
    }
    const turns = runs.map((run) => run.toClaim({ token: run.id, turn: 2 }));
    expect(await claim(mebibyte, turns)).toEqual(["claimed", "later"]);
  });

  test("counts the history for each branch of a run", async () => {
    const run = await withHistory(await aParkedRun(stage, branches(["a", "b", "c"])), mebibyte);
    const turns = ["a", "b", "c"].map((path) => ({ ...run.toClaim({ token: path }), path, occurrence: 1 }));
    expect(await claim(5 * mebibyte, turns)).toEqual(["claimed", "claimed", "later"]);
  });

  test("answers the first records of a history that does not fit, and the holder of the lease reads on", async () => {
    const run = await withHistory(await aRun(stage), 5 * mebibyte);
    const quotes = `0"${'\\"'.repeat(mebibyte / 2 - 2)}"`; // escaped once more in the answer
    await stage.onlooker.query(
      `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
         select $1, 0, n, 'step', 'part', n, false, layover.now(), $2 from generate_series(1, 5) as n`,
      [run.id, quotes],
    );
    await stage.onlooker.query("update layover.run_state set last_position = 5 where run_id = $1", [run.id]);
    const budgetBytes = 5 * mebibyte;
    const turn = run.toClaim({ token: "a" });
    const { token } = turn;
    const { turns } = await stage.onlooker.call("claim_turns", { ...terms, budgetBytes, turns: [turn] });
    expect(turns[0]).toMatchObject({ outcome: "claimed", have: null, position: 5, records: { length: 2 } });

    const page = { runId: run.id, token, epoch: 0, through: 5, budgetBytes };
    const read = async (more: object) => await stage.onlooker.call("read_page", { ...page, ...more });
    const second = await read({ after: 2 });
    expect(second).toMatchObject({ outcome: "read", records: { length: 2 } });
    expect(JSON.stringify(second).length).toBeLessThan(budgetBytes);
    expect(await read({ after: 4 })).toMatchObject({
      records: [["step", "part", 5, false, quotes, expect.anything(), 1]],
    });
    expect(await read({ after: 4, budgetBytes: 1 })).toMatchObject({ records: { length: 1 } });
    for (const other of [{ token: crypto.randomUUID() }, { epoch: 1 }, { namespace: "elsewhere" }])
      expect(await read({ after: 2, ...other })).toMatchObject({ outcome: "superseded" });
  });

  test("reads on for a branch too, as long as its own lease stands", async () => {
    const run = await withHistory(await aParkedRun(stage, branches(["a", "b"])), 3 * mebibyte);
    const place = { path: "a", occurrence: 1 };
    const turn = { ...run.toClaim({ token: "a" }), ...place };
    const { token } = turn;
    const claimed = await stage.onlooker.call("claim_turns", { ...terms, budgetBytes: mebibyte, turns: [turn] });
    expect(claimed.turns[0]).toMatchObject({ outcome: "claimed" });
    const page = { runId: run.id, token, ...place, epoch: 0, after: 0, through: 1, budgetBytes: mebibyte };
    expect(await stage.onlooker.call("read_page", page)).toMatchObject({ outcome: "read" });
    const foreign = await stage.onlooker.call("read_page", { ...page, path: "b" });
    expect(foreign).toMatchObject({ outcome: "superseded" });
  });

  describe("has pages", () => {
    /** Five records of the run's epoch, each of 100 bytes, beside others of an epoch before. It counts each as 600. */
    const aPage = async (more: object) => {
      const run = await aRun(stage);
      await run.claim(stage.onlooker, { token: "first" });
      await stage.onlooker.query("update layover.run_state set epoch = 1, last_position = 5");
      await stage.onlooker.query(
        `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
           select $1, e, n, 'step', e || ' ' || n, 1, false, layover.now(), repeat('0', case e when 1 then 100 else 5000 end)
             from generate_series(1, 5) as n, generate_series(0, 1) as e`,
        [run.id],
      );
      const page = { runId: run.id, epoch: 1, after: 0, through: 5, token: tokenOf("first"), ...more };
      const told = await stage.onlooker.call("read_page", page);
      return "records" in told ? told.records?.map(([, path]) => path) : told.outcome;
    };
    test.each<readonly [what: string, more: object, records: readonly string[]]>([
      ["whole, without a budget", {}, ["1 1", "1 2", "1 3", "1 4", "1 5"]],
      ["as far as it asks for", { through: 3 }, ["1 1", "1 2", "1 3"]],
      ["as far as it asks for, within a budget", { through: 3, budgetBytes: 100_000 }, ["1 1", "1 2", "1 3"]],
      ["as far as it asks for, which is less than fits", { through: 1, budgetBytes: 1800 }, ["1 1"]],
      ["from where it is", { after: 3, budgetBytes: 100_000 }, ["1 4", "1 5"]],
      ["that fill the budget", { budgetBytes: 1800 }, ["1 1", "1 2", "1 3"]],
      ["that stay below the budget", { budgetBytes: 1799 }, ["1 1", "1 2"]],
      ["of one record at least", { after: 1, budgetBytes: 1 }, ["1 2"]],
    ])("%s", async (_, more, records) => {
      expect(await aPage(more)).toEqual(records);
    });
  });
});
