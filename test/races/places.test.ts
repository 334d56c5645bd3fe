/** What a turn's end settles, takes and lets begin: what stands at its own place, in the order in which it was demanded. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { rowsOn } from "./rows.ts";
import {
  aDemand,
  aMap,
  aParkedRun,
  aRecord,
  aRunAtWork,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  soon,
} from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the end of a turn",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a signal is taken once, by a record of its kind with its payload",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
      ],
    });
    const makeReady = (run: Run) =>
      stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
    const goOn = async (run: Run, turn: number, token: string) => {
      await makeReady(run);
      return await run.claim(stage.onlooker, { token, turn });
    };
    const { answer } = rowsOn(stage);
    const mapsOf = (run: Run) =>
      stage.look("select path, slots, counted from layover.map where run_id = $1 order by path", [run.id]);
    const callbacks = (run: Run) =>
      stage.look(
        `select path, occurrence, outcome, position from layover.callback where run_id = $1
          order by path, occurrence`,
        [run.id],
      );

    test("settles the one of a name that it has recorded, and not the next one", async () => {
      const naps = [1, 2].map((n) => aDemand("sleep", "nap", { occurrence: n, ordinal: n, until: noon + n * minute }));
      const run = await aParkedRun(stage, naps);
      await goOn(run, 2, "second");
      await run.finish(stage.onlooker, { token: "second", records: [aRecord("sleep", "nap")] });
      expect(await stage.look("select path, occurrence from layover.pending")).toEqual([
        { path: "nap", occurrence: 2 },
      ]);
      expect(await run.state()).toMatchObject({ readyAt: noon + 2 * minute });
    });

    test("takes the answer that it has recorded, and no other one", async () => {
      const places = [
        { path: "approval", occurrence: 1 },
        { path: "approval", occurrence: 2 },
        { path: "other", occurrence: 2 },
      ];
      const waits = places.map((place, index) => aDemand("callback", place.path, { ...place, ordinal: index + 1 }));
      const run = await aParkedRun(stage, waits);
      for (const place of places) await run.answer(stage.onlooker, place.path, { armed: [soon], ...place });
      await goOn(run, 2, "second");
      const records = [aRecord("step", "charge"), aRecord("callback", "approval", { occurrence: 2, value: "0true" })];
      await run.finish(stage.onlooker, { token: "second", records });
      const resolved = { outcome: "resolved", position: null };
      expect(await callbacks(run)).toEqual([
        { path: "approval", occurrence: 1, ...resolved },
        { path: "approval", occurrence: 2, ...resolved, position: 2 },
        { path: "other", occurrence: 2, ...resolved },
      ]);
      expect(await run.state()).toMatchObject({ isReady: true });
    });

    test("takes what came in the epoch that it is in, or that the record names", async () => {
      const run = await aRunAtWork(stage);
      await run.signal(stage.onlooker, "go");
      await stage.onlooker.query("update layover.run_state set epoch = 2 where run_id = $1", [run.id]);
      const answers = ["own", "older"].flatMap((path) => [0, 1, 2].map((epoch) => ({ path, epoch })));
      for (const { path, epoch } of answers) await answer(run, { path: `'${path}'`, epoch: `${epoch}` });
      const [sent] = await stage.look("select number::integer as number from layover.signal");
      const records = [
        aRecord("signal", "go", { signal: Number(sent?.["number"]) }),
        aRecord("callback", "own", { value: "0true" }),
        aRecord("callback", "older", { value: "0true", callbackEpoch: 1 }),
      ];
      await run.finish(stage.onlooker, { token: "first", next: "ready", records });
      expect(await stage.look("select position, taken_epoch from layover.signal")).toEqual([
        { position: 1, taken_epoch: 2 },
      ]);
      const taken = await stage.look(
        "select path, epoch, position from layover.callback where position is not null order by path",
      );
      expect(taken).toEqual([
        { path: "older", epoch: 1, position: 3 },
        { path: "own", epoch: 2, position: 2 },
      ]);
    });

    test("waits on where all that it waits for was taken already, whatever else came", async () => {
      const run = await aParkedRun(stage, [aWaitFor("address"), aDemand("callback", "approval", { ordinal: 2 })]);
      await run.signal(stage.onlooker, "address");
      await run.answer(stage.onlooker, "approval");
      const [signal] = await stage.look("select number::integer from layover.signal");
      await run.signal(stage.onlooker, "unrelated");
      await run.answer(stage.onlooker, "later");
      await goOn(run, 2, "second");
      const records = [
        aRecord("signal", "address", { signal: Number(signal?.["number"]) }),
        aRecord("callback", "approval", { value: "0true" }),
      ];
      // As if both were waited for once more, at the same places.
      const demands = [aWaitFor("address", { path: "again" }), aDemand("callback", "approval", { ordinal: 2 })];
      const answer = await run.finish(stage.onlooker, { token: "second", records, demands });
      expect(answer).toMatchObject({ outcome: "finished", isReady: false, readyAt: null });
    });

    test("leaves nothing of a map that all have seen the end of", async () => {
      const run = await aMap(stage, ["all/a", "all/b"]);
      for (const path of ["all/a", "all/b"]) await run.finishBranch(stage.onlooker, path, { token: path });
      await goOn(run, 2, "second");
      await run.finish(stage.onlooker, { token: "second", position: 2 });
      expect(await mapsOf(run)).toEqual([]);
      expect(await run.pending()).toEqual({});
    });

    test("lets begin what it demands in the order of the demands, whatever the paths", async () => {
      const run = await aRunAtWork(stage);
      const demands = ["c", "a", "b"].flatMap((path, index) =>
        branches([path]).map((one) => ({ ...one, ordinal: index })),
      );
      const answer = await run.finish(stage.onlooker, { token: "first", demands: demands.toReversed() });
      expect(answer).toMatchObject({ branches: [{ path: "c" }, { path: "a" }, { path: "b" }] });
    });

    test("tells the next turn what is waited for in that order", async () => {
      const waits = ["c", "a", "b"].map((path, index) => aWaitFor("address", { path, ordinal: index + 1 }));
      const run = await aParkedRun(stage, waits.toReversed());
      const claimed = await goOn(run, 2, "second");
      expect(claimed).toMatchObject({ pending: [{ path: "c" }, { path: "a" }, { path: "b" }] });
    });

    test("gives a sleep in a map no slot, and the map does not wait for it", async () => {
      const run = await aRunAtWork(stage);
      const map = { path: "all", slots: 1, failsFast: false };
      const nap = aDemand("sleep", "all/nap", { until: noon + minute, map });
      const items = branches(["all/a", "all/b"], map).map((one) => ({ ...one, ordinal: one.ordinal + 1 }));
      const answer = await run.finish(stage.onlooker, { token: "first", demands: [nap, ...items] });
      expect(answer).toMatchObject({ branches: [{ path: "all/a" }] });
      expect(await mapsOf(run)).toEqual([{ path: "all", slots: 0, counted: 2 }]);
    });
  },
  { perTest: true },
);
