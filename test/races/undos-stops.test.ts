/** A run that owes undos ends or closes, and a cancel, its timeout, a pause or a termination comes at the same time. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, minute, noon, type Run, second } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { notApplicable, nowOn, operate } from "./stopping.ts";
import { claimsOn, closesBy, endsBy, over } from "./undoing.ts";

const timeoutMs = 3 * minute;

describeSomePostgres(
  "a run that owes undos",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const now = nowOn(stage);
    const claimed = { outcome: "claimed" };
    const ways = [
      ["ends", endsBy, ["step x", "ending"]],
      ["closes", closesBy, ["step x"]],
    ] as const;

    describe.each(ways)("and %s", (_, finishBy, kinds) => {
      test("before a cancel that waits for it: the cancel does not apply, and the run fails", async () => {
        const run = await aRunAtWork(stage);
        const [finished, told] = await stage.collide({ first: finishBy(run), second: operate("cancel", run) });
        expect([finished, told]).toMatchObject([{ outcome: "finished", turn: 2, isReady: true }, notApplicable]);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: kinds.length });
        expect(await run.kinds()).toEqual(kinds);
      });

      test("before a cancel that waits for it, and rolls back: the run is cancelled", async () => {
        const run = await aRunAtWork(stage);
        const both = { first: finishBy(run), second: operate("cancel", run), ends: "rollback" } as const;
        expect((await stage.collide(both))[1]).toMatchObject({ outcome: "cancelling" });
        expect(await now(finishBy(run))).toMatchObject({ outcome: "finished", turn: 2, isReady: true });
        await claim(run, 2);
        expect(await run.kinds()).toEqual(["step x", "closing"]);
      });

      test("after a cancel whose lock it waits for: its records are kept, and the run is cancelled", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: operate("cancel", run), second: finishBy(run) });
        const parked = { outcome: "finished", turn: 2, status: "parked", isReady: true };
        expect([told, finished]).toMatchObject([{ outcome: "cancelling" }, parked]);
        expect(await now(finishBy(run))).toMatchObject({ outcome: "finished", turn: 2 }); // the same finish again
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2, attempted: null });
        expect(await run.kinds()).toEqual(["step x", "closing"]);
        const end = { token: "turn 2", position: 2, next: "cancelled" } as const;
        expect(await now(endsBy(run, end))).toMatchObject({ outcome: "finished", turn: 3 });
        await claim(run, 3);
        const last = over(3, 4, "cancelled")(run);
        expect(await now(last)).toMatchObject({ outcome: "finished", status: "cancelled" });
      });

      test("in time: its timeout is written no more, though it passes before the next claim", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        await stage.clock.set(noon + timeoutMs + second);
        await now(finishBy(run, { at: noon + timeoutMs }));
        await stage.clock.advance(timeoutMs);
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: kinds.length, timeoutAt: null });
        expect(await run.kinds()).toEqual(kinds);
      });

      test("too late: its records are kept, and the next claim writes the timeout", async () => {
        const run = await aRunAtWork(stage, { timeoutMs });
        const after = noon + timeoutMs + second;
        await stage.clock.set(after);
        const late = finishBy(run, { at: noon + timeoutMs + 1 });
        expect(await now(late)).toMatchObject({ outcome: "finished", turn: 2, isReady: true });
        expect(await now(late)).toMatchObject({ outcome: "finished", turn: 2 });
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: 2 });
        expect(await run.kinds()).toEqual(["step x", "closing"]);
        expect(await now(endsBy(run, { token: "turn 2", position: 2, at: after }))).toMatchObject({ turn: 3 });
        expect(await run.kinds()).toEqual(["step x", "closing", "step x", "ending"]);
        expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 4 });
      });

      test("and the claim that writes its timeout, since its lease is over: the first of both stands", async () => {
        const takeOver = (run: Run) => (session: Session) => run.claim(session, { token: "other" });
        const run = await aRunAtWork(stage, { timeoutMs: second });
        await stage.clock.advance(minute);
        const [finished, stale] = await stage.collide({ first: finishBy(run), second: takeOver(run) });
        expect([finished, stale]).toMatchObject([
          { outcome: "finished", turn: 2 },
          { outcome: "stale", turn: 2 },
        ]);
        expect(await run.kinds()).toEqual(kinds);
        const other = await aRunAtWork(stage, { timeoutMs: second });
        await stage.clock.advance(minute);
        const [taken, late] = await stage.collide({ first: takeOver(other), second: finishBy(other) });
        expect([taken, late]).toMatchObject([{ ...claimed, position: 1 }, { outcome: "superseded" }]);
        expect(await other.kinds()).toEqual(["closing"]);
      });

      test("after a pause whose lock it waits for: it stands, and what follows waits until the run is resumed", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: operate("pause", run), second: finishBy(run) });
        expect([told, finished]).toMatchObject([{ outcome: "paused" }, { outcome: "finished", turn: 2 }]);
        expect(await claim(run, 2)).toEqual({ outcome: "paused" });
        expect(await now(operate("resume", run))).toMatchObject({ outcome: "resumed", turn: 2 });
        expect(await claim(run, 2)).toMatchObject({ ...claimed, position: kinds.length });
      });

      test("after a termination whose lock it waits for: it is superseded", async () => {
        const run = await aRunAtWork(stage);
        const [told, finished] = await stage.collide({ first: operate("terminate", run), second: finishBy(run) });
        expect([told, finished]).toEqual([{ outcome: "terminated", runId: run.id }, { outcome: "superseded" }]);
        expect(await run.kinds()).toEqual([]);
      });

      test("before a termination that waits for it: its records are kept, and no undo begins", async () => {
        const run = await aRunAtWork(stage);
        const [, told] = await stage.collide({ first: finishBy(run), second: operate("terminate", run) });
        expect(told).toEqual({ outcome: "terminated", runId: run.id });
        expect(await claim(run, 2)).toEqual({ outcome: "over", status: "cancelled" });
        expect(await run.kinds()).toEqual(kinds);
      });
    });
  },
  { perTest: true },
);
