/** Signals that are kept for a run that is not there yet: each one goes to its own run, or is given up, and no other is touched. */
import { describe, expect, test } from "vitest";
import type { DeedCall } from "../../src/postgres/wire-webhooks.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo, aStartOf } from "./deeds.ts";
import { minute, noon, Run, soon, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const expires = noon + 96 * 60 * minute;
const elsewhere = { namespace: "elsewhere" };

describeSomePostgres(
  "kept signals",
  (database) => {
    const stage = stageOn(database);
    const receive = (delivery: string, deeds: readonly DeedCall[], more: object = {}, by: Session = stage.onlooker) =>
      by.call("receive_delivery", { webhook: "shop", delivery, deeds, armed: [soon, expires], ...more });
    const start = async (id: string, more: object = {}) => {
      const { runId } = await stage.onlooker.call("start_run", { ...aStartOf(id), armed: [soon], ...more });
      return new Run(stage, runId ?? "");
    };
    const send = (by: Session = stage.onlooker, more: object = {}) =>
      by.call("send_kept_signals", { limit: 500, armed: [soon + minute], ...more });
    const claim = (by: Session, ...runs: readonly Run[]) =>
      by.call("claim_turns", { ...terms, turns: runs.map((run) => run.toClaim({ token: run.id })) });
    const kept = async (what = "payload") =>
      (await stage.look(`select ${what} as it from layover.kept_signal order by number`)).map(({ it }) => it);
    const sent = async () =>
      await stage.look(
        `select r.namespace, r.workflow, r.user_id as id, g.payload
           from layover.signal g join layover.run r on r.id = g.run_id order by g.number`,
      );
    const mine = { namespace: "default", workflow: "flow", id: "a" };

    /** Keeps the signal "0mine" for the run `a` of `flow`, and others for what is named alike. */
    const keepOneAndOthers = async () => {
      await receive("d1", [aSignalTo("a", '0"mine"')]);
      await receive("d2", [aSignalTo("a", '0"of a workflow"', "other"), aSignalTo("b", '0"of an id"')]);
      await receive("d1", [aSignalTo("a", '0"elsewhere"')], elsewhere);
    };
    const others = ['0"of a workflow"', '0"of an id"', '0"elsewhere"'];
    /** Keeps one without a run while runs begin that are named alike. */
    const keepBesideRuns = async () => {
      await receive("d1", [aSignalTo("a")]);
      const runs = [await start("a", elsewhere), await start("a", { workflow: "other" }), await start("b")];
      return runs;
    };
    /** A run that was started, and claimed or ended, after a delivery had looked for it, and before that was committed. */
    const keepTooLate = async (meanwhile: (run: Run) => Promise<unknown>, id = "a") => {
      const receiver = await stage.session(`receiver for ${id}`);
      await receiver.begin();
      await receive(`late ${id}`, [aSignalTo(id, '0"late"')], {}, receiver);
      const run = await start(id);
      await meanwhile(run);
      await receiver.commit();
      return run;
    };

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

    describe("when the scheduler looks", () => {
      test("are sent to their own run, and all others of the namespace are looked at again when they expire", async () => {
        await keepOneAndOthers();
        await start("a");
        await stage.clock.set(soon);
        expect(await send()).toMatchObject({ left: [], isMore: false });
        expect(await sent()).toEqual([{ ...mine, payload: '0"mine"' }]);
        expect(await kept()).toEqual(others);
        const [later, due] = [new Date(expires), new Date(soon)];
        expect(await kept("due_at")).toEqual([later, later, due]);
        await send(stage.onlooker, elsewhere);
        expect(await kept("due_at")).toEqual([later, later, later]);
      });

      test("and expire, are given up in their own namespace alone", async () => {
        await keepOneAndOthers();
        await stage.clock.set(expires);
        const { left, isMore } = await send();
        expect([left.map(({ delivery }) => delivery), isMore]).toEqual([["d1", "d2", "d2"], false]);
        expect(await kept()).toEqual(['0"elsewhere"']);
        expect(
          await stage.look(
            "select namespace, id, outcome, reason is null as no_reason, decided_at from layover.delivery order by 1, 2",
          ),
        ).toEqual([
          { namespace: "default", id: "d1", outcome: "expired", no_reason: false, decided_at: new Date(expires) },
          { namespace: "default", id: "d2", outcome: "expired", no_reason: false, decided_at: new Date(expires) },
          { namespace: "elsewhere", id: "d1", outcome: "done", no_reason: true, decided_at: new Date(noon) },
        ]);
      });

      test("tell the delivery of their own webhook that brought them, and no other, what became of them", async () => {
        await receive("d1", [aSignalTo("a")]);
        await receive("d2", []);
        await receive("d1", [], { webhook: "till" });
        await stage.clock.set(expires);
        await send();
        expect(await stage.look("select webhook, id from layover.delivery where outcome <> 'done'")).toEqual([
          { webhook: "shop", id: "d1" },
        ]);
      });

      test("are no signals to runs that are named alike: they wait for their own, and expire", async () => {
        await keepBesideRuns();
        await stage.clock.set(soon);
        expect(await send()).toMatchObject({ turns: [], left: [], isMore: false });
        expect(await kept("due_at")).toEqual([new Date(expires)]);
        await stage.clock.set(expires);
        expect(await send()).toMatchObject({ left: [{ outcome: "expired" }], isMore: false });
        expect(await sent()).toEqual([]);
      });

      test("take the room of one run of theirs, and not of runs that are named alike", async () => {
        await receive("d1", [aSignalTo("a", '0"elsewhere"')], elsewhere);
        const beside = await keepBesideRuns();
        const run = await start("a");
        expect([...beside.map(({ id }) => id), run.id].sort().at(-1)).toBe(run.id);
        await stage.clock.set(soon);
        expect(await send(stage.onlooker, { limit: 1 })).toMatchObject({ isMore: false });
        expect(await sent()).toMatchObject([mine]);
      });

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

      test("and are not due yet are left alone", async () => {
        await receive("d1", [aSignalTo("a")]);
        await receive("d2", [aSignalTo("b")], { armed: [soon + 1, expires] });
        await stage.clock.set(soon);
        expect(await send()).toMatchObject({ isMore: false });
        expect(await kept("due_at")).toEqual([new Date(expires), new Date(soon + 1)]);
        await start("b");
        expect(await send()).toMatchObject({ isMore: false });
        expect(await sent()).toEqual([]);
        await stage.clock.set(soon + 1);
        await send();
        expect(await sent()).toHaveLength(1);
      });

      test("dispatch the runs that they wake, and no others", async () => {
        const late = async (id: string, doors: readonly string[]) =>
          await keepTooLate(async (run) => {
            await run.claim(stage.onlooker, { token: "first" });
            const demands = doors.map((signal) => ({
              ...({ kind: "signal", path: signal, occurrence: 1, demandedAfter: 0, ordinal: 1, signal } as const),
            }));
            await run.finish(stage.onlooker, { token: "first", demands });
          }, id);
        const waiting = await late("a", ["address"]);
        await late("b", ["other"]);
        await stage.clock.set(soon);
        expect(await send()).toMatchObject({ turns: [{ runId: waiting.id, turn: 2 }], left: [] });
        expect(await kept()).toEqual([]);
      });

      test("go one run after the other, in the order of their ids, and its signals in that of their arrival", async () => {
        const pages = async (page: object) => {
          const { left, isMore } = await send(stage.onlooker, page);
          return [left.map(({ delivery }) => delivery), isMore];
        };
        for (const id of ["b", "a", "b2", "c"]) await receive(id, [aSignalTo(id.slice(0, 1), `0"${id}"`)]);
        for (const id of ["a", "b"]) await start(id);
        await stage.clock.set(soon);
        expect(await pages({ limit: 1 })).toEqual([[], true]);
        expect((await sent()).map(({ payload }) => payload)).toEqual(['0"a"']);
        expect(await pages({ limit: 1 })).toEqual([[], false]);
        expect((await sent()).map(({ payload }) => payload)).toEqual(['0"a"', '0"b"', '0"b2"']);
      });

      test("are moved, and given up, a bounded number at once: the oldest ones first", async () => {
        for (const [index, id] of ["c", "b", "a"].entries()) {
          await stage.clock.set(noon + index);
          await receive(id, [aSignalTo(id)], { armed: [soon + index, expires + index] });
        }
        await stage.clock.set(soon + 2);
        expect(await send(stage.onlooker, { limit: 1 })).toMatchObject({ isMore: true });
        expect(await kept("due_at")).toEqual([expires, soon + 1, soon + 2].map((at) => new Date(at)));
        expect(await send(stage.onlooker, { limit: 2 })).toMatchObject({ isMore: false });
        await stage.clock.set(expires + 2);
        const page = { limit: 1 };
        expect(await send(stage.onlooker, page)).toMatchObject({ left: [{ delivery: "c" }], isMore: true });
        expect(await send(stage.onlooker, page)).toMatchObject({ left: [{ delivery: "b" }], isMore: true });
        expect(await send(stage.onlooker, page)).toMatchObject({ left: [{ delivery: "a" }], isMore: false });
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

      test("leave alone what became of a delivery that somebody carries out anew at that moment", async () => {
        await receive("d1", [aSignalTo("a")]);
        await stage.clock.set(expires);
        const replay = await stage.hold("select from layover.delivery for update");
        expect(await send()).toMatchObject({ left: [{ delivery: "d1", outcome: "expired" }] });
        await replay.rollback();
        expect(await stage.look("select outcome from layover.delivery")).toEqual([{ outcome: "done" }]);
      });
    });
  },
  { perTest: true },
);
