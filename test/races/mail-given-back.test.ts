/** A restart gives back what its run had taken after the cut, and leaves the mail of other places, epochs and runs. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import { aRecord, aRunAtWork, at, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a restart",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a signal is taken once, by a record of its kind with its payload",
        "signals of a name are taken in order",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
      ],
    });
    const { answer, write } = rowsOn(stage);
    /** It has ended after these callbacks, of which the first one is kept. */
    const anEndedRun = async (...paths: readonly string[]) => {
      const run = await aRunAtWork(stage);
      const records = paths.map((path) => aRecord("callback", path, { value: "0true" }));
      await run.finish(stage.onlooker, { token: "first", records, next: "completed", value: "0null" });
      return run;
    };
    const restart = async ({ id: runId }: Run, path: string) => {
      const call = { runId, from: { path, occurrence: 1 }, callId: randomUUID(), armed: [soon] };
      expect(await stage.onlooker.call("restart_run", call)).toMatchObject({ outcome: "restarted", kept: 1 });
    };
    const answers = async ({ id }: Run) =>
      (
        await stage.look(
          "select path, occurrence, epoch, outcome, position from layover.callback where run_id = $1 order by path, occurrence, epoch",
          [id],
        )
      ).map(
        ({ path, occurrence, epoch, outcome, position }) => `${path} ${occurrence} of ${epoch}: ${outcome} ${position}`,
      );
    /** Another epoch, of which nothing is kept, had the first of these callbacks, too. */
    const recordElsewhere = (run: Run) =>
      write("record", run, {
        ...{ epoch: "7", position: "9", kind: "'callback'", path: "'kept'", occurrence: "1", value: "'0true'" },
        ...{ is_failure: "false", recorded_at: "layover.now()" },
      });
    const expired = { outcome: "'expired'", value: "null" };

    test("opens callbacks that had expired behind the cut, and no others", async () => {
      const [run, other] = [await anEndedRun("kept", "b"), await anEndedRun("kept", "b", "c")];
      for (const one of [run, other]) {
        await recordElsewhere(one);
        await answer(one, { ...expired, path: "'kept'", position: "1" });
        await answer(one, { ...expired, path: "'b'", position: "2" });
        await answer(one, { ...expired, path: "'b'", occurrence: "2", position: "9" });
        await answer(one, { ...expired, path: "'b'", epoch: "7", position: "9" });
        await answer(one, { ...expired, path: "'c'", position: "3" });
      }
      const before = await answers(other);
      await restart(run, "b");
      expect(await answers(run)).toEqual([
        "b 1 of 7: expired 9",
        "b 2 of 0: expired 9",
        "c 1 of 0: expired 3",
        "kept 1 of 0: expired 1",
      ]);
      expect(await answers(other)).toEqual(before);
    });

    test("that keeps nothing opens none of its callbacks, whose URLs are dead: one that has expired stays so", async () => {
      const run = await aRunAtWork(stage);
      const { value: _none, ...timedOut } = aRecord("callback", "approval");
      await run.finish(stage.onlooker, { token: "first", records: [timedOut], next: "completed", value: "0null" });
      const call = { runId: run.id, callId: randomUUID(), armed: [soon] };
      expect(await stage.onlooker.call("restart_run", call)).toMatchObject({ outcome: "restarted", kept: 0 });
      const url = { namespace: "default", runId: run.id, epoch: 0, ...at("approval"), madeAt: 0 };
      const page = await stage.onlooker.query("select layover.read_callback($1) as read", [JSON.stringify(url)]);
      expect(page).toEqual([{ read: { outcome: "expired", until: null } }]);
      const value = { outcome: "resolved", value: "0true", armed: [soon] };
      expect(await stage.onlooker.call("answer_callback", { ...url, ...value })).toEqual({ outcome: "expired" });
    });

    test("gives back answers that were taken behind the cut, and no others", async () => {
      const [run, other] = [await anEndedRun("kept", "b"), await anEndedRun("kept", "b", "c")];
      for (const one of [run, other]) {
        await recordElsewhere(one);
        await answer(one, { path: "'kept'", position: "1" });
        await answer(one, { path: "'b'", position: "2" });
        await answer(one, { path: "'b'", occurrence: "2", position: "9" });
        await answer(one, { path: "'b'", epoch: "7", position: "9" });
        await answer(one, { path: "'c'", position: "3" });
      }
      const before = await answers(other);
      await restart(run, "b");
      expect(await answers(run)).toEqual([
        "b 1 of 0: resolved null",
        "b 1 of 7: resolved 9",
        "b 2 of 0: resolved 9",
        "c 1 of 0: resolved 3",
        "kept 1 of 0: resolved 1",
      ]);
      expect(await answers(other)).toEqual(before);
    });

    test("gives back signals that were taken behind the cut in the epoch that ends, and no others", async () => {
      const [run, other] = [await anEndedRun("kept", "b"), await anEndedRun("kept", "b")];
      const rows = [
        ["kept", "1", "0"],
        ["dropped", "2", "0"],
        ["older", "2", "7"],
        ["waiting", "null", "0"],
      ] as const;
      for (const one of [run, other])
        for (const [name, position, epoch] of rows)
          await write("signal", one, {
            ...{ id: "gen_random_uuid()", name: `'${name}'`, payload: "'0true'", is_parsed: "true" },
            ...{ received_at: "layover.now()", position, taken_epoch: epoch },
          });
      const signals = async ({ id }: Run) =>
        (
          await stage.look("select name, position, taken_epoch from layover.signal where run_id = $1 order by number", [
            id,
          ])
        ).map(({ name, position, taken_epoch: epoch }) => [name, position, epoch]);
      const before = await signals(other);
      await restart(run, "b");
      expect(await signals(run)).toEqual([
        ["kept", 1, 1],
        ["dropped", null, 1],
        ["older", 2, 7],
        ["waiting", null, 0],
      ]);
      expect(await signals(other)).toEqual(before);
    });
  },
  { perTest: true },
);
