/** What the deeds of a delivery do, and which turns its sender's process is told to dispatch. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo, aSignalWithStartOf, aStartOf } from "./deeds.ts";
import { aDemand, aParkedRun, aRun, aWaitFor, minute, noon, Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

const expires = noon + 96 * 60 * minute;

describeSomePostgres(
  "a delivery",
  (database) => {
    const stage = stageOn(database);
    const receive = (delivery: string, deeds: readonly DeedCall[]) =>
      stage.onlooker.call("receive_delivery", { webhook: "shop", delivery, deeds, armed: [soon, expires] });

    test("that starts one run twice, to signal it, starts it with its first deed, and sends both signals in order", async () => {
      const { deeds, turns } = await receive("d1", [
        aSignalWithStartOf("a", "01", '0"one input"'),
        aSignalWithStartOf("a", "02", '0"another"'),
      ]);
      const [runId] = deeds.map((deed) => deed.runId);
      expect(deeds).toEqual([
        { runId, outcome: "started", signal: "sent" },
        { runId, outcome: "exists", signal: "sent" },
      ]);
      expect(turns).toEqual([{ runId, turn: 1, readyAt: noon }]);
      expect(await stage.look("select payload from layover.signal order by number")).toEqual([
        { payload: "01" },
        { payload: "02" },
      ]);
    });

    test("that starts a run which is there dispatches nothing", async () => {
      await receive("d1", [aStartOf("a")]);
      expect(await receive("d2", [aStartOf("a")])).toMatchObject({ deeds: [{ outcome: "exists" }], turns: [] });
    });

    test("that is forgotten and comes again with the same run tells its first turn again", async () => {
      const start = aStartOf("a");
      await receive("d1", [start]);
      await database.pool.query("delete from layover.delivery");
      expect(await receive("d1", [start])).toMatchObject({ deeds: [{ outcome: "started" }], turns: [{ turn: 1 }] });
    });

    test("with a signal dispatches the run that waits for it, once", async () => {
      const { id: runId } = await aParkedRun(stage, [aWaitFor("address")], { id: "a" });
      expect(await receive("d1", [aSignalTo("b"), aSignalTo("a")])).toMatchObject({
        deeds: [
          { runId: null, signal: "kept" },
          { runId, signal: "sent" },
        ],
        turns: [{ runId, turn: 2 }],
      });
      expect(await receive("d2", [aSignalTo("a")])).toMatchObject({ deeds: [{ signal: "sent" }], turns: [] });
    });

    test("with a signal to a run that is unknown by its own id is refused, since no start will bring it", async () => {
      const { id: runId } = await aRun(stage);
      const signal = {
        workflow: "flow",
        runId: randomUUID(),
        signalId: randomUUID(),
        name: "a",
        encodedPayload: "0null",
      };
      expect(await receive("d1", [signal])).toMatchObject({
        outcome: "refused",
        reason: `there is no run ${signal.runId}`,
      });
      expect(await receive("d2", [{ ...signal, runId }])).toMatchObject({ deeds: [{ runId, signal: "sent" }] });
    });

    describe("that comes again tells the turns of its runs", () => {
      const again = async (...ids: readonly string[]) =>
        (
          await receive(
            "d1",
            ids.map((id) => aStartOf(id)),
          )
        ).turns;

      test("that are ready and that nobody has claimed, in the order of their runs", async () => {
        const ids = ["d", "c", "b", "a"];
        await aRun(stage); // of nobody's delivery
        const { deeds } = await receive(
          "d1",
          ids.map((id) => aStartOf(id)),
        );
        const [d, c, b, a] = deeds.map((deed) => new Run(stage, deed.runId ?? ""));
        await c?.claim(stage.onlooker, { token: "first" });
        await b?.operate(stage.onlooker, "pause");
        expect(await again(...ids)).toMatchObject([
          { runId: d?.id, turn: 1 },
          { runId: a?.id, turn: 1 },
        ]);
      });

      test("also before its instant, where it is the first one", async () => {
        await receive("d1", [{ ...aStartOf("a"), delayMs: minute }]);
        expect(await again("a")).toMatchObject([{ turn: 1, readyAt: soon }]);
      });

      test("from its instant on, where it is a later one", async () => {
        const { deeds } = await receive("d1", [aStartOf("a")]);
        const run = new Run(stage, deeds[0]?.runId ?? "");
        await run.claim(stage.onlooker, { token: "first" });
        await run.finish(stage.onlooker, { token: "first", demands: [aDemand("sleep", "nap", { until: soon })] });
        await stage.clock.set(soon - 1);
        expect(await again("a")).toEqual([]);
        await stage.clock.set(soon);
        expect(await again("a")).toEqual([{ runId: run.id, turn: 2, readyAt: soon }]);
      });
    });
  },
  { perTest: true },
);
