/** A turn's demand is written once, and a row that is there stays. Only a step between its attempts becomes a branch. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aDemand, aRecord, aRunAtWork, aWaitFor, branches, minute, noon, type Run, second } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a turn's demand",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a map counts the branches that it waits for",
        "what is queued has somebody ahead in its map",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
      ],
    });
    const { wait, write } = rowsOn(stage);
    const demand = (run: Run, demands: Parameters<Run["finish"]>[1]["demands"], more: object = {}) =>
      run.finish(stage.onlooker, { token: "first", ...(demands && { demands }), ...more });
    const rows = (run: Run) =>
      stage.look(
        `select path, occurrence, kind, demanded_after, ordinal, signal, layover.to_ms(until)::float8 as until, map, is_queued, is_counted,
            is_shielded, is_released, callback_epoch, attempts, layover.to_ms(ready_at)::float8 as ready
           from layover.pending where run_id = $1 order by ordinal, path, occurrence`,
        [run.id],
      );
    const maps = (run: Run) =>
      stage.look("select path, counted, slots, fails_fast from layover.map where run_id = $1 order by path", [run.id]);
    const at = (ms: number) => `layover.now() + interval '${ms} ms'`;
    const plain = {
      ...{
        occurrence: 1,
        demanded_after: 0,
        signal: null,
        until: null,
        map: null,
        callback_epoch: null,
        attempts: 0,
        ready: null,
      },
      ...{ is_queued: false, is_counted: false, is_shielded: false, is_released: false },
    };
    let run: Run;
    let other: Run;
    beforeEach(async () => {
      [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
    });

    test("has all that it says", async () => {
      const told = await demand(run, [
        aDemand("branch", "b", { ordinal: 4 }),
        aDemand("branch", "a", { ordinal: 5, occurrence: 2, isShielded: true }),
        aDemand("sleep", "nap", { ordinal: 1, until: noon + minute, map: { path: "all", slots: 1, failsFast: true } }),
        aWaitFor("go", { ordinal: 2 }),
        aDemand("callback", "it", { ordinal: 3, callbackEpoch: 7, until: noon + second }),
      ]);
      expect(told).toMatchObject({
        branches: [
          { path: "b", occurrence: 1, turn: 1 },
          { path: "a", occurrence: 2, turn: 1 },
        ],
      });
      expect(await rows(run)).toEqual([
        { ...plain, path: "nap", kind: "sleep", ordinal: 1, until: noon + minute },
        { ...plain, path: "go", kind: "signal", ordinal: 2, signal: "go" },
        { ...plain, path: "it", kind: "callback", ordinal: 3, until: noon + second, callback_epoch: 7 },
        { ...plain, path: "b", kind: "branch", ordinal: 4, ready: 0 },
        { ...plain, path: "a", kind: "branch", ordinal: 5, occurrence: 2, is_shielded: true, ready: 0 },
      ]);
      expect(await maps(run)).toEqual([{ path: "all", counted: 0, slots: 1, fails_fast: true }]);
      expect([await rows(other), await maps(other)]).toEqual([[], []]);
    });

    test("in a map has a slot or queues, in the order of the map's demands, and so do those that come later", async () => {
      const all = { path: "all", slots: 2, failsFast: false };
      const both = { path: "both", slots: 1, failsFast: true };
      const free = { path: "free", slots: null, failsFast: false };
      const told = await demand(run, [
        ...["c", "b", "a"].map((path, index) => aDemand("branch", path, { ordinal: 1 + index, map: all })),
        ...["x", "y"].map((path, index) => aDemand("branch", path, { ordinal: 4 + index, map: both })),
        ...["m", "n"].map((path, index) => aDemand("branch", path, { ordinal: 6 + index, map: free })),
      ]);
      expect(told).toMatchObject({ branches: ["c", "b", "x", "m", "n"].map((path) => ({ path })) });
      expect((await rows(run)).map((row) => [row["path"], row["map"], row["is_queued"], row["is_counted"]])).toEqual([
        ["c", "all", false, true],
        ["b", "all", false, true],
        ["a", "all", true, true],
        ["x", "both", false, true],
        ["y", "both", true, true],
        ["m", "free", false, true],
        ["n", "free", false, true],
      ]);
      expect(await maps(run)).toEqual([
        { path: "all", counted: 3, slots: 0, fails_fast: false },
        { path: "both", counted: 2, slots: 0, fails_fast: true },
        { path: "free", counted: 2, slots: null, fails_fast: false },
      ]);
    });

    test("joins the map that is there, and no map of another run", async () => {
      const all = { path: "all", slots: 9, failsFast: false };
      for (const [one, slots] of [
        [run, 1],
        [other, 5],
      ] as const)
        await write("map", one, { path: "'all'", counted: "2", slots: `${slots}`, fails_fast: "true" });
      await demand(run, branches(["a", "b"], all));
      expect(await maps(run)).toEqual([{ path: "all", counted: 4, slots: 0, fails_fast: true }]);
      expect(await maps(other)).toEqual([{ path: "all", counted: 2, slots: 5, fails_fast: true }]);
      expect((await rows(run)).map((row) => row["is_queued"])).toEqual([false, true]);
    });

    describe("of a place that has a row", () => {
      const later = aDemand("branch", "it", { ordinal: 8, demandedAfter: 0, isShielded: true });
      test.each<readonly [what: string, kind: string, columns: Columns, kindAsked: "branch" | "sleep"]>([
        ["of its kind", "sleep", { until: at(5) }, "sleep"],
        ["of a branch", "branch", { ready_at: at(5) }, "branch"],
        ["of a step between its attempts, for a sleep", "retry", { attempts: "2", ready_at: at(5) }, "sleep"],
      ])("leaves it as it is: one %s", async (_, kind, columns, kindAsked) => {
        await wait(run, kind, columns);
        const before = await rows(run);
        await demand(run, [
          { ...later, kind: kindAsked },
          aDemand("sleep", "nap", { ordinal: 9, until: noon + minute }),
        ]);
        expect((await rows(run)).filter((row) => row["path"] === "it")).toEqual(before);
      });

      test("of a step between its attempts makes that a branch, with its attempts and its time", async () => {
        await wait(run, "retry", { attempts: "2", ready_at: at(5) });
        await wait(other, "branch", { ready_at: at(5) });
        await demand(run, [later]);
        expect(await rows(run)).toEqual([
          { ...plain, path: "it", kind: "branch", ordinal: 8, is_shielded: true, attempts: 2, ready: noon + 5 },
        ]);
        expect(await rows(other)).toMatchObject([{ kind: "branch", ordinal: 1 }]);
      });

      test("of a step between its attempts counts from the record that it came after", async () => {
        await wait(run, "retry", { attempts: "2", ready_at: at(5) });
        await demand(run, [{ ...later, demandedAfter: 1 }], { records: [aRecord("step", "x")] });
        expect(await rows(run)).toMatchObject([{ kind: "branch", demanded_after: 1 }]);
      });

      test.each([
        ["another run", "occurrence", "1"],
        ["another occurrence", "occurrence", "2"],
        ["another path", "path", "'other'"],
      ])("is another place than that of %s", async (what, column, value) => {
        await wait(what === "another run" ? other : run, "branch", { [column]: value, ready_at: "layover.now()" });
        await demand(run, [later]);
        expect((await rows(run)).map((row) => row["ordinal"])).toContain(8);
      });

      const all = { path: "all", slots: 1, failsFast: false };
      test.each<readonly [what: string, ready: string, isFirst: boolean, isCounted: boolean, isAnswered: boolean]>([
        ["is counted and claimed where it is ready", "layover.now()", true, true, true],
        ["is counted where it is ready in ten seconds", at(10_000), true, true, false],
        ["is not waited for where it is ready later", at(10_001), true, false, false],
        ["is counted where it queues, whenever it is ready", at(10_001), false, true, false],
      ])("of a map %s", async (_, ready, isFirst, isCounted, isAnswered) => {
        await wait(run, "retry", { attempts: "2", ready_at: ready });
        const ahead = aDemand("branch", "ahead", { ordinal: isFirst ? 3 : 1, map: all });
        const told = await demand(run, [{ ...aDemand("branch", "it", { ordinal: 2 }), map: all }, ahead]);
        const [row] = (await rows(run)).filter(({ path }) => path === "it");
        expect(row).toMatchObject({
          kind: "branch",
          map: "all",
          ordinal: 2,
          is_queued: !isFirst,
          is_counted: isCounted,
        });
        expect(await maps(run)).toMatchObject([{ counted: 1 + Number(isCounted), slots: 0 }]);
        const paths = "branches" in told && told.branches !== null ? (told.branches ?? []).map(({ path }) => path) : [];
        expect(paths).toEqual(isFirst ? (isAnswered ? ["it"] : []) : ["ahead"]);
      });
    });

    test("beyond the records that its turn has brought is left where the turn is deferred", async () => {
      await run.signal(stage.onlooker, "go");
      const all = { path: "all", slots: 1, failsFast: false };
      await demand(
        run,
        [
          aDemand("branch", "a", { ordinal: 1, map: all }),
          aDemand("branch", "b", { ordinal: 2, demandedAfter: 5, map: { ...all, path: "late" } }),
        ],
        { closes: ["go"] },
      );
      expect((await rows(run)).map(({ path }) => path)).toEqual(["a"]);
      expect((await maps(run)).map(({ path }) => path)).toEqual(["all"]);
    });

    test("of an attempt that comes again takes the place of the one that was dropped", async () => {
      for (const one of [run, other])
        await write("attempt", one, {
          ...{ epoch: "0", path: "'it'", occurrence: "1", number: "1", error: "'0\"old\"'", request_id: "'old'" },
          ...{ began_at: at(-2), ended_at: at(-1) },
        });
      const place = { path: "it", occurrence: 1, number: 1, demandedAfter: 0 };
      const attempt = {
        ...place,
        beganAt: noon + 1,
        endedAt: noon + 2,
        error: '0"new"',
        requestId: "new",
        retryInMs: second,
      };
      await run.finish(stage.onlooker, { token: "first", attempt });
      const read = async ({ id }: Run) =>
        await stage.look(
          "select error, request_id, layover.to_ms(began_at)::float8 as began, layover.to_ms(ended_at)::float8 as ended from layover.attempt where run_id = $1",
          [id],
        );
      expect(await read(run)).toEqual([{ error: '0"new"', request_id: "new", began: noon + 1, ended: noon + 2 }]);
      expect(await read(other)).toEqual([{ error: '0"old"', request_id: "old", began: noon - 2, ended: noon - 1 }]);
    });
  },
  { perTest: true },
);
