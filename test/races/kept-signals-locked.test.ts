/** Kept signals that the scheduler looks at while somebody else has locked them, or their run or delivery. */
import { describe, expect, test } from "vitest";
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo } from "./deeds.ts";
import { elsewhere, expires, keptSignalsOn } from "./kept-signals.ts";
import { minute, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "kept signals",
  (database) => {
    const stage = stageOn(database);
    const { receive, start, startOthers, send, kept, sent, keepTooLate } = keptSignalsOn(stage);

    describe("when the scheduler looks", () => {
      test("stay kept if their run is pruned at that moment", async () => {
        const run = await keepTooLate((late) => late.operate(stage.onlooker, "terminate"));
        await stage.clock.set(soon);
        const pruner = await stage.session("pruner");
        await pruner.begin();
        await pruner.call("prune_runs", { keepMs: 0, keepFailedMs: 0, limit: 10 });
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler);
        await scheduler.untilBlocked(pruner);
        await pruner.commit();
        expect(await answer).toMatchObject({ turns: [], left: [] });
        expect(await stage.look("select from layover.run where id = $1", [run.id])).toEqual([]);
        expect(await kept()).toEqual(['0"late"']);
      });

      const locking = (deliveries: readonly string[]) =>
        stage.hold("select from layover.kept_signal where delivery = any ($1) for update", [deliveries]);

      test("and are locked are left, and told of once there is nothing else to do", async () => {
        for (const id of ["d1", "d2"]) await receive(id, [aSignalTo(id)]);
        await stage.clock.set(expires);
        const holder = await locking(["d1"]);
        expect(await send()).toMatchObject({ left: [{ delivery: "d2" }], isMore: true, isLocked: false });
        expect(await send()).toMatchObject({ left: [], isMore: false, isLocked: true });
        await holder.rollback();
        expect(await send()).toMatchObject({ left: [{ delivery: "d1" }], isMore: false, isLocked: false });
      });

      test.each(["commit", "rollback"] as const)(
        "and are locked are waited for if the caller says so: until the other's %s",
        async (end) => {
          await receive("d1", [aSignalTo("a")], { armed: [expires] }); // due at that very instant
          await startOthers();
          await stage.clock.set(expires);
          const holder = await stage.hold("delete from layover.kept_signal");
          const scheduler = await stage.session("scheduler");
          const answer = send(scheduler, { waits: true });
          await scheduler.untilBlocked(holder);
          await holder[end]();
          const left = end === "commit" ? [] : [{ delivery: "d1", outcome: "expired" }];
          expect(await answer).toMatchObject({ left, isMore: false, isLocked: false });
          expect(await kept()).toEqual([]);
        },
      );

      test("are not waited for if they are not due, of another namespace, or on a later page", async () => {
        await receive("d1", [aSignalTo("a")]);
        await receive("d2", [aSignalTo("b")]);
        await receive("d3", [aSignalTo("c")], { armed: [expires + minute, expires + minute] });
        await receive("d4", [aSignalTo("a")], elsewhere);
        await stage.clock.set(expires);
        const holder = await locking(["d2", "d3", "d4"]);
        expect(await send(stage.onlooker, { limit: 1, waits: true })).toMatchObject({ left: [{ delivery: "d1" }] });
        await holder.rollback();
        const other = await locking(["d3", "d4"]);
        expect(await send(stage.onlooker, { waits: true })).toMatchObject({ left: [{ delivery: "d2" }] });
        await other.rollback();
      });

      test("are not waited for if their run is there, and is on a later page", async () => {
        for (const id of ["b", "a"]) await receive(id, [aSignalTo(id)]);
        for (const id of ["a", "b"]) await start(id);
        await stage.clock.set(soon);
        const holder = await locking(["b"]);
        expect(await send(stage.onlooker, { limit: 1, waits: true })).toMatchObject({ left: [], isMore: true });
        expect((await sent()).map(({ id }) => id)).toEqual(["a"]);
        await holder.rollback();
      });

      test("and that stay, since their delivery is locked, do not take the place of others", async () => {
        await keepTooLate((late) => late.operate(stage.onlooker, "terminate"));
        await receive("d1", [aSignalTo("b")], { armed: [expires] });
        await stage.clock.set(expires);
        const holder = await stage.hold("select from layover.delivery where id = 'late a' for update");
        expect(await send(stage.onlooker, { limit: 1 })).toMatchObject({ left: [{ delivery: "d1" }], isMore: true });
        await holder.rollback();
      });

      test("are left to the next look while somebody else has locked them: it waits for nobody", async () => {
        await receive("d1", [aSignalTo("a")]);
        await receive("d2", [aSignalTo("b")]);
        await stage.clock.set(soon);
        const locked = "select from layover.kept_signal where user_id = 'a' for update";
        const first = await stage.hold(locked);
        expect(await send()).toMatchObject({ isMore: true });
        await first.rollback();
        expect(await kept("due_at")).toEqual([new Date(soon), new Date(expires)]);
        await stage.clock.set(expires);
        const second = await stage.hold(locked);
        expect(await send()).toMatchObject({ left: [{ delivery: "d2" }], isMore: true });
        await second.rollback();
      });

      test("are locked after their run, as a claim locks them", async () => {
        await receive("d1", [aSignalTo("a")]);
        const [run, other] = [await start("a"), await start("b")];
        await stage.clock.set(soon);
        const bystander = await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
        const holder = await stage.hold("select from layover.run_state where run_id = $1 for update", [run.id]);
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler);
        await scheduler.untilBlocked(holder);
        await holder.query("delete from layover.kept_signal"); // as a claim that takes it
        await holder.commit();
        expect(await answer).toMatchObject({ turns: [], left: [], isMore: false });
        expect(await sent()).toEqual([]);
        await bystander.rollback();
      });

      test("and that come while it sends the others of their run are not lost", async () => {
        await receive("d1", [aSignalTo("a", "01")]);
        const receiver = await stage.session("receiver");
        await receiver.begin();
        await receive("d2", [aSignalTo("a", "02")], {}, receiver);
        await start("a");
        await stage.clock.set(soon);
        const gate = await stage.gate("layover.signal");
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler);
        await scheduler.untilBlocked(gate);
        await receiver.commit();
        await gate.commit();
        expect(await answer).toMatchObject({ isMore: true });
        expect((await sent()).map(({ payload }) => payload)).toEqual(["01"]);
        expect(await kept()).toEqual(["02"]);
      });

      const outcomes = async () => await stage.look("select id, outcome from layover.delivery order by id");
      /** One whose run is over, and one that expires at the same time. */
      const keepBoth = async () => {
        await keepTooLate((late) => late.operate(stage.onlooker, "terminate"));
        await receive("d1", [aSignalTo("b")]);
        await stage.clock.set(expires);
      };

      test("stay while somebody else has locked their deliveries, and are told of: it waits for nobody", async () => {
        await keepBoth();
        const holder = await stage.hold("select from layover.delivery for update");
        expect(await send()).toMatchObject({ left: [], isMore: false, isLocked: true });
        expect(await kept()).toHaveLength(2);
        await holder.rollback();
        const left = [
          { delivery: "late a", outcome: "refused" },
          { delivery: "d1", outcome: "expired" },
        ];
        expect(await send()).toMatchObject({ left, isMore: false, isLocked: false });
        expect(await outcomes()).toEqual(left.toReversed().map(({ delivery: id, outcome }) => ({ id, outcome })));
      });

      test("wait for their deliveries if the caller says so, before they lock a run", async () => {
        await keepBoth();
        const holder = await stage.hold("select from layover.delivery where id = 'd1' for update");
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler, { waits: true });
        await scheduler.untilBlocked(holder);
        expect(await stage.look("select from layover.run_state for update skip locked")).toHaveLength(1);
        await holder.rollback();
        expect(await answer).toMatchObject({ left: [{}, {}], isLocked: false });
        expect((await outcomes()).map(({ outcome }) => outcome)).toEqual(["expired", "refused"]);
      });

      test("wait for no delivery of another page, of another namespace, or that is not due", async () => {
        for (const id of ["d1", "d2"]) await receive(id, [aSignalTo(id)]);
        await receive("d3", [aSignalTo("c")], { armed: [expires + minute, expires + minute] });
        await receive("d1", [aSignalTo("a")], elsewhere);
        await stage.clock.set(expires);
        const lock = (which: string) => stage.hold(`select from layover.delivery where ${which} for update`);
        const holder = await lock("id = 'd2'");
        expect(await send(stage.onlooker, { limit: 1, waits: true })).toMatchObject({ left: [{ delivery: "d1" }] });
        await holder.rollback();
        const other = await lock("id = 'd3' or namespace = 'elsewhere'");
        expect(await send(stage.onlooker, { waits: true })).toMatchObject({ left: [{ delivery: "d2" }] });
        await other.rollback();
      });

      test("wait for their deliveries in the order of their ids", async () => {
        for (const id of ["d2", "d1"]) await receive(id, [aSignalTo(id)], { armed: [expires] }); // due at that very instant
        await stage.clock.set(expires);
        const holder = await stage.hold("select from layover.delivery where id = 'd1' for update");
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler, { waits: true });
        await scheduler.untilBlocked(holder);
        expect(await stage.look("select id from layover.delivery for update skip locked")).toEqual([{ id: "d2" }]);
        await holder.rollback();
        await answer;
      });

      test("wait for no signal that is kept for another workflow", async () => {
        for (const workflow of ["flow", "other"]) await receive(workflow, [aSignalTo("a", "01", workflow)]);
        await start("a");
        await stage.clock.set(soon);
        const holder = await locking(["other"]);
        expect(await send()).toMatchObject({ left: [] });
        expect(await sent()).toHaveLength(1);
        await holder.rollback();
      });

      test("are not sent if they have expired at that moment, though their run was started since", async () => {
        await receive("d1", [aSignalTo("a")]);
        await stage.clock.set(soon);
        const holder = await stage.hold("delete from layover.kept_signal");
        await start("a");
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler);
        await scheduler.untilBlocked(holder);
        await holder.commit();
        expect(await answer).toMatchObject({ turns: [], left: [] });
        expect(await sent()).toEqual([]);
      });

      test("do not expire if their run is started at that moment", async () => {
        for (const id of ["d1", "d2"]) await receive(id, [aSignalTo(id)]);
        await stage.clock.set(expires);
        const gate = await stage.gate("layover.delivery");
        const scheduler = await stage.session("scheduler");
        const answer = send(scheduler);
        await scheduler.untilBlocked(gate);
        await start("d2");
        await gate.commit();
        expect(await answer).toMatchObject({ left: [{ delivery: "d1" }], isMore: true });
        expect(await send()).toMatchObject({ left: [], isMore: false });
        expect(await sent()).toMatchObject([{ id: "d2" }]);
      });
    });

    describe("whose delivery was carried out anew", () => {
      const deed = { ...aSignalTo("a"), dedupeId: "d1:0" };
      const again = (deeds: readonly DeedCall[], delivery = "d1", more: object = {}) =>
        receive(delivery, deeds, { replay: { by: "ada" }, armed: [expires, expires + minute], ...more });
      const outcome = async () =>
        (await stage.look("select outcome from layover.delivery order by received_at"))[0]?.["outcome"];
      const keepAndExpire = async (meanwhile: () => Promise<unknown>) => {
        await receive("d1", [deed]);
        await stage.clock.set(soon);
        await meanwhile();
        await stage.clock.set(expires);
        return await send();
      };

      test("leave to those that were kept then what becomes of it", async () => {
        expect(await keepAndExpire(() => again([deed]))).toMatchObject({ left: [] });
        expect(await outcome()).toBe("done");
        await stage.clock.set(expires + minute);
        expect(await send()).toMatchObject({ left: [{ delivery: "d1" }] });
        expect(await outcome()).toBe("expired");
      });

      test("leave it as it is if nothing was kept then", async () => {
        await start("b");
        expect(await keepAndExpire(() => again([{ ...deed, id: "b" }]))).toMatchObject({ left: [] });
        expect(await outcome()).toBe("done");
        expect(await kept()).toEqual([]);
      });

      test.each<readonly [what: string, delivery: string, deed: DeedCall, more: object]>([
        ["another name", "d1", { ...deed, name: "other" }, {}],
        ["another id", "d1", { ...deed, dedupeId: "d1:1" }, {}],
        ["another run", "d1", { ...deed, id: "b" }, {}],
        ["another workflow", "d1", { ...deed, workflow: "other" }, {}],
        ["another delivery", "d2", deed, {}],
        ["another webhook", "d1", deed, { webhook: "till" }],
        ["another namespace", "d1", deed, elsewhere],
      ])("are not taken for the same where what was kept later has %s", async (_, delivery, later, more) => {
        expect(await keepAndExpire(() => again([later], delivery, more))).toMatchObject({ left: [{ delivery: "d1" }] });
        expect(await outcome()).toBe("expired");
        expect(await kept()).toHaveLength(1);
      });
    });
  },
  { perTest: true },
);
