/** Signals that are kept for a run that is not there yet: its first claim takes its own, and leaves all others. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo } from "./deeds.ts";
import { elsewhere, keptSignalsOn, mine, others } from "./kept-signals.ts";
import { aRecord, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "kept signals",
  (database) => {
    const stage = stageOn(database);
    const { receive, start, send, claim, kept, sent, keepOneAndOthers, keepTooLate } = keptSignalsOn(stage);

    test("are refused if one alone is larger than all mail of a run may be", async () => {
      const payload = `0"${"x".repeat(16_777_216)}"`;
      const told = await receive("d1", [aSignalTo("a", payload)]);
      expect(told).toMatchObject({ outcome: "refused", reason: expect.stringContaining("0 signals of 0 bytes wait") });
      expect(await kept()).toEqual([]);
    });

    test("are those of the namespace default, as from psql, where none is named", async () => {
      await receive("d1", [aSignalTo("a")], { namespace: undefined });
      expect(await kept("namespace")).toEqual(["default"]);
    });

    describe("at the first claim of a run", () => {
      test("are taken by the run that they are for, in order, and all others stay", async () => {
        await keepOneAndOthers();
        await receive("d3", [aSignalTo("a", '0"second"')]);
        const [run, beside] = [await start("a"), await start("b")];
        await start("c");
        await claim(stage.onlooker, run);
        expect(await sent()).toEqual([
          { ...mine, payload: '0"mine"' },
          { ...mine, payload: '0"second"' },
        ]);
        expect(await kept()).toEqual(others);
        expect(await stage.look("select run_id from layover.run_state where has_mail")).toEqual([{ run_id: run.id }]);
        await claim(stage.onlooker, beside);
        expect(await kept()).toEqual(['0"of a workflow"', '0"elsewhere"']);
      });

      test("are not taken once more if their delivery was carried out anew since the run is there", async () => {
        const deeds = [aSignalTo("a", '0"once"')];
        await receive("d1", deeds);
        const run = await start("a");
        expect(await receive("d1", deeds, { replay: { by: "ada" } })).toMatchObject({ deeds: [{ signal: "sent" }] });
        expect(await claim(stage.onlooker, run)).toMatchObject({ turns: [{ outcome: "claimed" }] });
        expect(await sent()).toEqual([{ ...mine, payload: '0"once"' }]);
        expect(await kept()).toEqual([]);
      });

      test("stay kept if it names a run of another namespace", async () => {
        await keepOneAndOthers();
        await claim(stage.onlooker, await start("a", elsewhere));
        expect(await kept()).toHaveLength(4);
      });

      test("stay kept if that run is over, and are refused when the scheduler looks", async () => {
        const run = await keepTooLate((late) => late.operate(stage.onlooker, "terminate"));
        await claim(stage.onlooker, run);
        expect(await kept()).toEqual(['0"late"']);
        await stage.clock.set(soon);
        const reason = `the run ${run.id} of workflow flow takes no signal "address": it is over`;
        expect(await send()).toMatchObject({ left: [{ delivery: "late a", outcome: "refused", reason }] });
      });

      test("stay kept if that run has failed and is retried, until the scheduler looks", async () => {
        const run = await keepTooLate(async (late) => {
          await claim(stage.onlooker, late);
          const records = [aRecord("step", "a", { isFailure: true })];
          const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
          await late.finish(stage.onlooker, { token: late.id, records, next: "failed", value: "0{}", failure });
        });
        const retried = await stage.onlooker.call("retry_run", { runId: run.id, callId: randomUUID(), armed: [soon] });
        expect(retried).toMatchObject({ outcome: "retried" });
        expect([await kept(), await sent()]).toEqual([['0"late"'], []]);
        await stage.clock.set(soon);
        expect(await send()).toMatchObject({ left: [] });
        expect([await kept(), await sent()]).toEqual([[], [{ ...mine, payload: '0"late"' }]]);
      });

      test("are left alone until it has locked all its runs, in the order of their ids", async () => {
        await receive("d1", [aSignalTo("a"), aSignalTo("b")]);
        const [a, b] = [await start("a"), await start("b")];
        const bystander = await start("c");
        const holder = await stage.hold("select from layover.run_state where run_id = any ($1) for update", [
          [a.id, bystander.id],
        ]);
        const claimer = await stage.session("claimer");
        const claimed = claim(claimer, b, a);
        await claimer.untilBlocked(holder);
        expect(await stage.look("select from layover.kept_signal for update skip locked")).toHaveLength(2);
        const free = "select from layover.run_state where run_id = $1 for update skip locked";
        expect(await stage.look(free, [b.id])).toHaveLength(1);
        await holder.rollback();
        await claimed;
        expect(await kept()).toEqual([]);
      });

      test("wait for no run that it does not claim", async () => {
        await receive("d1", [aSignalTo("a")]);
        const [a, bystander] = [await start("a"), await start("c")];
        const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [bystander.id]);
        expect(await claim(stage.onlooker, a)).toMatchObject({ turns: [{ outcome: "claimed" }] });
        await holder.rollback();
      });
    });
  },
  { perTest: true },
);
