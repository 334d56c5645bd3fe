/** The claim of a branch is answered and written down alike, whether it comes alone or in a set. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aParkedRun,
  aRecord,
  aRunAtWork,
  at,
  branches,
  minute,
  type Run,
  soon,
  terms,
  tokenOf,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

interface Have {
  readonly epoch: number;
  readonly position: number;
  readonly version?: number;
}

describeSomePostgres("a branch", (database) => {
  const stage = stageOn(database);

  /** A run in its second epoch that has recorded a step, has met a change of its code, and waits for two branches. */
  const aRunInItsSecondEpoch = async () => {
    const run = await aRunAtWork(stage, { encodedInput: '0"first"' });
    await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
    const restart = { runId: run.id, callId: randomUUID(), encodedInput: '0"second"', armed: [soon] };
    await stage.onlooker.call("restart_run", restart);
    const turns = [run.toClaim({ turn: 3, token: "second" })];
    await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
    const demands = ["a", "b"].map((path, ordinal) => aDemand("branch", path, { demandedAfter: 1, ordinal }));
    const patches = [{ path: "newer", position: 1 }];
    await run.finish(stage.onlooker, { token: "second", records: [aRecord("step", "x")], demands, patches });
    return run;
  };

  describe.each([
    ["that is claimed alone", ["a"]],
    ["of a set", ["a", "b"]],
  ])("%s", (_, paths) => {
    const claim = async (
      run: Run,
      { token = "token", have, ...more }: { token?: string; have?: Have; [key: string]: unknown } = {},
    ) => {
      const turns = paths.map((path) => ({
        ...run.toClaim({ token, groupSize: paths.length, ...(have !== undefined && { have }) }),
        ...at(path),
      }));
      return (await stage.onlooker.call("claim_turns", { ...terms, ...more, turns })).turns;
    };
    const each = (answer: object) => paths.map(() => answer);

    test("is not here for code of a release that knows no epochs, unless its run is in the first one", async () => {
      const [late, early] = [await aRunInItsSecondEpoch(), await aParkedRun(stage, branches(["a", "b"]))];
      expect(await claim(late)).toMatchObject(each({ outcome: "not_here" }));
      expect(await claim(early)).toMatchObject(each({ outcome: "claimed", run: { input: "0{}" } }));
      expect(await claim(late, { knowsEpochs: true })).toMatchObject(each({ outcome: "claimed", epoch: 1 }));
    });

    test("is not here for code of a release that does not know the close of a run whose handler has thrown", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      const set = "update layover.run_state set cancel_reason = $2 where run_id = $1";
      await stage.onlooker.query(set, [run.id, "its handler has thrown"]);
      expect(await claim(run)).toMatchObject(each({ outcome: "not_here" }));
      expect(await claim(run, { knowsThrows: true })).toMatchObject(each({ outcome: "claimed" }));
    });

    const all = {
      run: { input: '0"second"' },
      patches: [{ path: "newer", position: 1 }],
      records: [expect.arrayContaining(["step", "x"])],
    };
    test.each<[string, Have | undefined, object]>([
      ["nothing", undefined, { ...all, have: null }],
      ["an epoch before", { epoch: 0, position: 1, version: 1 }, { ...all, have: null }],
      ["another version", { epoch: 1, position: 1, version: 2 }, { ...all, have: null }],
      ["more than was there when it was demanded", { epoch: 1, position: 2, version: 1 }, { ...all, have: null }],
      ["less", { epoch: 1, position: 0, version: 1 }, { ...all, run: null, have: 0 }],
      ["all of that", { epoch: 1, position: 1, version: 1 }, { run: null, patches: null, records: null, have: 1 }],
      [
        "all of that, without a version, as a release before says it",
        { epoch: 1, position: 1 },
        { run: null, have: 1 },
      ],
    ])("is handed what its process does not have, which has %s", async (_, have, told) => {
      const run = await aRunInItsSecondEpoch();
      const more = { knowsEpochs: true, ...(have !== undefined && { have }) };
      expect(await claim(run, more)).toMatchObject(each({ outcome: "claimed", position: 1, ...told }));
    });

    test("is not claimed by who belongs to another environment", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      expect(await claim(run, { environment: "elsewhere" })).toEqual(each({ outcome: "wrong_environment" }));
      expect(await claim(run)).toMatchObject(each({ outcome: "claimed" }));
    });

    test("is not here for the deployment that has refused its run", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await stage.onlooker.query(
        `update layover.run_state set refused_by = '{"green": {"at": 1, "why": "no"}}' where run_id = $1`,
        [run.id],
      );
      expect(await claim(run, { deployment: "green" })).toMatchObject(each({ outcome: "not_here" }));
      expect(await claim(run, { deployment: "blue" })).toMatchObject(each({ outcome: "claimed" }));
    });

    test("is not ready while it waits for a slot of its map", async () => {
      const run = await aParkedRun(stage, branches(["x", "a", "b"], { path: "all", slots: 1, failsFast: false }));
      expect(await claim(run)).toEqual(each({ outcome: "not_ready", readyAt: null }));
    });

    test("goes alone after four lost leases", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await stage.onlooker.query("update layover.pending set lost = 4 where run_id = $1", [run.id]);
      const answer = paths.length > 1 ? { outcome: "alone", groupSize: 1 } : { outcome: "claimed", claims: 1 };
      expect(await claim(run)).toMatchObject(each(answer));
    });

    test("is handed the changes of its code, though it was demanded before the first record", async () => {
      const run = await aRunAtWork(stage);
      const patches = [{ path: "newer", position: 0 }];
      await run.finish(stage.onlooker, { token: "first", demands: branches(["a", "b"]), patches });
      expect(await claim(run)).toMatchObject(each({ outcome: "claimed", patches, records: null }));
    });

    test("has begun, and counts neither dispatches nor what was spared before", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await stage.onlooker.query("update layover.pending set dispatches = 3, spared = 2 where run_id = $1", [run.id]);
      await claim(run);
      const rows = await stage.look(
        "select has_begun, dispatches, token from layover.pending where run_id = $1 and path = any ($2)",
        [run.id, paths],
      );
      expect(rows).toEqual(each({ has_begun: true, dispatches: 0, token: tokenOf("token") }));
    });
  });

  test("goes in groups of sixteen after two lost leases", async () => {
    const paths = Array.from({ length: 17 }, (_, index) => `step ${index}`);
    const run = await aParkedRun(stage, branches(paths));
    await stage.onlooker.query("update layover.pending set lost = 2 where run_id = $1", [run.id]);
    const claim = async (some: readonly string[]) => {
      const turns = some.map((path) => ({ ...run.toClaim({ token: path, groupSize: some.length }), ...at(path) }));
      return (await stage.onlooker.call("claim_turns", { ...terms, turns })).turns.map(({ outcome }) => outcome);
    };
    expect(await claim(paths)).toEqual(paths.map(() => "alone"));
    expect(await claim(paths.slice(1))).toEqual(paths.slice(1).map(() => "claimed"));
  });

  test("has nothing spared that has lost nothing, and knows whose lease it has lost", async () => {
    const run = await aParkedRun(stage, branches(["a"]));
    const row = async () =>
      (await stage.look("select lost, spared, lost_token from layover.pending where run_id = $1", [run.id]))[0];
    await stage.onlooker.query("update layover.pending set spared = 2, lost_token = $2 where run_id = $1", [
      run.id,
      tokenOf("of old"),
    ]);
    await run.claimBranch(stage.onlooker, "a", { token: "first", alone: true });
    expect(await row()).toEqual({ lost: 0, spared: 0, lost_token: tokenOf("of old") });
    await stage.clock.advance(2 * minute);
    await run.claimBranch(stage.onlooker, "a", { token: "second" });
    expect(await row()).toEqual({ lost: 1, spared: 0, lost_token: tokenOf("first") });
  });

  test.each([
    ["and whose lease is over", { lost: 6, spared: 1, lost_token: tokenOf("first") }, "lost = 5, spared = 1"],
    [
      "and that nobody holds",
      { lost: 5, spared: 1, lost_token: tokenOf("of old") },
      `lost = 5, spared = 1, token = null, leased_until = null, lost_token = '${tokenOf("of old")}'`,
    ],
  ])("that is set back, since too many died over it, %s, still counts them", async (_, counted, assignments) => {
    const demands = [...branches(["a", "b"]), { ...aDemand("branch", "a"), occurrence: 2 }];
    const [run, other] = [await aParkedRun(stage, demands), await aParkedRun(stage, demands)];
    await run.claimBranch(stage.onlooker, "a", { token: "first", alone: true });
    await stage.onlooker.query("update layover.pending set beginnings = 6 where run_id = any ($1)", [
      [run.id, other.id],
    ]);
    await stage.onlooker.query(
      `update layover.pending set ${assignments} where run_id = $1 and path = 'a' and occurrence = 1`,
      [run.id],
    );
    await stage.clock.advance(2 * minute);
    expect(await run.claimBranch(stage.onlooker, "a", { token: "last", alone: true })).toMatchObject({
      outcome: "not_ready",
    });
    const rows = await stage.look(
      "select lost, spared, lost_token, beginnings from layover.pending where run_id = any ($1)",
      [[run.id, other.id]],
    );
    expect(rows.filter(({ beginnings }) => beginnings !== 6)).toMatchObject([counted]);
  });
});
