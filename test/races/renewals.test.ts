/** A renewal of a lease changes only the turn that it names, and tells only of that turn. So does a return. */
import { beforeEach, describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRunAtWork, aStart, at, minute, noon, type Run, second, tokenOf } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a renewal",
  (database) => {
    const stage = stageOn(database);
    const renew = async (by: Session, run: Run, token: string, more: object = {}, call: object = {}) => {
      const turn = { runId: run.id, token: tokenOf(token), ...more };
      return (await by.call("renew_leases", { leaseMs: minute, ...call, turns: [turn] })).turns[0];
    };
    const giveBack = (run: Run, token: string, more: object = {}) =>
      stage.onlooker.call("return_leases", { turns: [{ runId: run.id, token: tokenOf(token), ...more }] });
    const says = '0"packing"';
    const renewed = { outcome: "renewed" };
    const set = (table: "run_state" | "pending", run: Run, assignments: string) =>
      stage.onlooker.query(`update layover.${table} set ${assignments} where run_id = $1`, [run.id]);
    const row = async (table: "run_state" | "pending", run: Run, columns: string) =>
      (await stage.look(`select ${columns} from layover.${table} where run_id = $1`, [run.id]))[0];
    const lock = (run: Run) => stage.hold("select from layover.run_state where run_id = $1 for update", [run.id]);

    beforeEach(async () => {
      await stage.onlooker.query("set statement_timeout = '5s'");
    });

    describe("of a branch", () => {
      test("waits for nobody who has locked the run, unless it says something of that", async () => {
        const run = await aFanOut(stage, ["a"]);
        const holder = await lock(run);
        expect(await renew(stage.onlooker, run, "a", at("a"))).toMatchObject(renewed);
        const renewer = await stage.session("renewer");
        const told = renew(renewer, run, "a", { ...at("a"), says });
        await renewer.untilBlocked(holder);
        expect(await stage.look("select from layover.pending for update skip locked")).toHaveLength(1);
        await holder.commit();
        expect(await told).toMatchObject(renewed);
        expect(await row("run_state", run, "custom_status")).toEqual({ custom_status: says });
      });

      test("that says something waits for no other run", async () => {
        const [run, other] = [await aFanOut(stage, ["a"]), await aRunAtWork(stage)];
        await lock(other);
        expect(await renew(stage.onlooker, run, "a", { ...at("a"), says })).toMatchObject(renewed);
      });

      test("keeps what it had begun, until it begins something else", async () => {
        const run = await aFanOut(stage, ["a"]);
        for (const more of [{ begins: "1" }, {}]) {
          await renew(stage.onlooker, run, "a", { ...at("a"), ...more });
          expect(await row("pending", run, "begun")).toEqual({ begun: "1" });
        }
      });

      test("in another namespace is no renewal", async () => {
        const run = await aFanOut(stage, ["a"]);
        const told = await renew(stage.onlooker, run, "a", at("a"), { namespace: "other" });
        expect(told).toMatchObject({ outcome: "superseded" });
      });

      test.each([
        [true, null],
        [false, { reason: "to see" }],
      ])("is told of the cancel of its run unless it cleans up: %s", async (isShielded, cancel) => {
        const run = await aFanOut(stage, ["a"]);
        await set("pending", run, `is_shielded = ${isShielded}`);
        await run.operate(stage.onlooker, "cancel");
        const told = await renew(stage.onlooker, run, "a", at("a"));
        expect(told).toMatchObject({ cancel: cancel === null ? null : expect.anything() });
      });

      test("is told of no timeout while its run is paused", async () => {
        const run = await aFanOut(stage, ["a"], { timeoutMs: minute });
        expect(await renew(stage.onlooker, run, "a", at("a"))).toMatchObject({ timeoutAt: noon + minute });
        await run.operate(stage.onlooker, "pause");
        expect(await renew(stage.onlooker, run, "a", at("a"))).toMatchObject({ timeoutAt: null });
      });
    });

    test("of a run is told of no timeout while that is paused", async () => {
      const run = await aRunAtWork(stage, { timeoutMs: minute });
      expect(await renew(stage.onlooker, run, "first")).toMatchObject({ timeoutAt: noon + minute });
      await run.operate(stage.onlooker, "pause");
      expect(await renew(stage.onlooker, run, "first")).toMatchObject({ timeoutAt: null });
    });

    test("of a branch whose lease somebody else has says nothing of the run", async () => {
      const run = await aFanOut(stage, ["a"]);
      expect(await renew(stage.onlooker, run, "stranger", { ...at("a"), says })).toMatchObject({
        outcome: "superseded",
      });
      expect(await row("run_state", run, "custom_status")).toEqual({ custom_status: null });
    });

    test("that comes too late spares the loss of that lease, in its own namespace, and a return spares none", async () => {
      const run = await aRunAtWork(stage);
      await stage.onlooker.call("start_run", { ...aStart(), namespace: "other" });
      await stage.clock.advance(minute);
      await run.claim(stage.onlooker, { token: "second" });
      const spared = async () => (await row("run_state", run, "lost, spared")) ?? {};
      await giveBack(run, "first");
      await renew(stage.onlooker, run, "first", {}, { namespace: "other" });
      expect(await spared()).toEqual({ lost: 1, spared: 0 });
      expect(await renew(stage.onlooker, run, "first")).toMatchObject({ outcome: "superseded" });
      expect(await spared()).toEqual({ lost: 1, spared: 1 });
    });

    test("of a run leaves when it was ready, and a return has it ready whatever the clock says", async () => {
      const run = await aRunAtWork(stage);
      await set("run_state", run, "ready_at = layover.now()");
      await stage.clock.advance(second);
      await renew(stage.onlooker, run, "first");
      const readyAt = "layover.to_ms(ready_at)::float8 as at";
      expect(await row("run_state", run, readyAt)).toEqual({ at: noon });
      await giveBack(run, "first");
      expect(await row("run_state", run, readyAt)).toEqual({ at: 0 });
    });
  },
  { perTest: true },
);
