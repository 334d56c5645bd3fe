/** Kept signals that the scheduler looks at: each one goes to its own run, or is given up, and no other is touched. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aSignalTo } from "./deeds.ts";
import { elsewhere, expires, keptSignalsOn, mine, others } from "./kept-signals.ts";
import { noon, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "kept signals",
  (database) => {
    const stage = stageOn(database);
    const { receive, start, send, kept, sent, keepOneAndOthers, keepBesideRuns, keepTooLate } = keptSignalsOn(stage);

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

      /** Keeps one for `a` that expires now, and others later that deliveries have brought which are named alike. */
      const keepOfDeliveriesAlike = async () => {
        await receive("d1", [aSignalTo("a")]);
        const armed = [expires + 1, expires + 1];
        await receive("d2", [aSignalTo("b")], { armed });
        await receive("d1", [aSignalTo("b")], { armed, webhook: "till" });
        await receive("d1", [aSignalTo("b")], { armed, ...elsewhere });
        await stage.clock.set(expires);
      };
      const left = [{ webhook: "shop", delivery: "d1", outcome: "expired" }];

      test("tell the delivery that brought them, and no other, what became of them", async () => {
        await keepOfDeliveriesAlike();
        expect(await send()).toMatchObject({ left });
        expect(await stage.look("select namespace, webhook, id from layover.delivery where outcome <> 'done'")).toEqual(
          [{ namespace: "default", webhook: "shop", id: "d1" }],
        );
      });

      test("are given up if the delivery that brought them is gone, and others stand that are named alike", async () => {
        await keepOfDeliveriesAlike();
        await stage.look("delete from layover.delivery where (namespace, webhook, id) = ('default', 'shop', 'd1')");
        expect(await send()).toMatchObject({ left, isLocked: false });
        expect(await kept()).toHaveLength(3);
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
    });
  },
  { perTest: true },
);
