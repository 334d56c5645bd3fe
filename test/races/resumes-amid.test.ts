/** A resume and what ends a wait of the same run, or the finish of a turn that was at work: each in both orders. */
import { describe, expect, test } from "vitest";
import type { NewDemand, NewRecord } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, idOf } from "./invoking.ts";
import { pausesOn } from "./pausing.ts";
import { aDemand, aParkedRun, aRecord, aRunAtWork, aWaitFor, Run, second, soon } from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

/** A paused run that waits for one thing. `end` brings it, and is answered `told`; `offered` is what a claim says of it then. */
interface Wait {
  readonly run: Run;
  readonly end: (session: Session) => Promise<unknown>;
  readonly told: (turn: number | null) => object;
  readonly offered: object;
  readonly record: NewRecord;
}

async function aWait(stage: Stage, demand: NewDemand, rest: (run: Run) => Omit<Wait, "run">): Promise<Wait> {
  const run = await aParkedRun(stage, [demand]);
  await run.operate(stage.onlooker, "pause");
  return { run, ...rest(run) };
}

const forASignal = (stage: Stage) =>
  aWait(stage, aWaitFor("address"), (run) => ({
    end: (session) => run.signal(session, "address"),
    told: (turn) => ({ outcome: "sent", turn }),
    offered: { signals: [{ name: "address" }] },
    record: aRecord("signal", "address", { value: '0"here"' }),
  }));

const forAnAnswer = (stage: Stage) =>
  aWait(stage, aDemand("callback", "approval"), (run) => ({
    end: (session) => run.answer(session, "approval"),
    told: (turn) => ({ outcome: "answered", turn }),
    offered: { callbacks: [{ path: "approval" }] },
    record: aRecord("callback", "approval", { value: "0true" }),
  }));

const forARun = (parentId: string, childId: string) => async (stage: Stage) => {
  const run = await aRunAtWork(stage, { runId: parentId });
  await run.finish(stage.onlooker, { token: "first", children: [childOf(childId, "it")] });
  const child = new Run(stage, childId);
  await child.claim(stage.onlooker, { token: "child" });
  await run.operate(stage.onlooker, "pause");
  return {
    run,
    end: (session: Session) => child.finish(session, { token: "child", next: "completed", value: '0"done"' }),
    told: (turn: number | null) => ({
      ...{ outcome: "finished", status: "completed" },
      others: turn === null ? [] : [{ runId: parentId, turn }],
    }),
    offered: { children: { ends: [{ path: "it", status: "completed", value: '0"done"' }] } },
    record: aRecord("child", "it", { value: '0"done"' }),
  };
};

const waits: readonly (readonly [name: string, wait: (stage: Stage) => Promise<Wait>])[] = [
  ["a signal", forASignal],
  ["the answer of a callback", forAnAnswer],
  ["the end of a run with a later id", forARun(idOf(1), idOf(2))],
  ["the end of a run with an earlier id", forARun(idOf(2), idOf(1))],
];

describeSomePostgres(
  "a resume",
  (database) => {
    const stage = stageOn(database);
    const { pause } = pausesOn(stage);
    const armed = [soon + second];
    const resume = (run: Run) => (session: Session) => run.operate(session, "resume", { armed });
    const nothing = { signals: null, callbacks: null, children: null };

    async function expectOfferedOnce({ run, offered, record }: Wait): Promise<void> {
      const claimed = await run.claim(stage.onlooker, { turn: 2, token: "second" });
      expect(claimed).toMatchObject({ outcome: "claimed", ...nothing, ...offered });
      const signal = "signals" in claimed ? claimed.signals?.[0]?.number : undefined;
      const records = [{ ...record, ...(signal !== undefined && { signal }) }];
      const finished = await run.finish(stage.onlooker, { token: "second", records, next: "ready" });
      expect(finished).toMatchObject({ outcome: "finished", isReady: true });
      const next = await run.claim(stage.onlooker, { turn: 3, token: "third" });
      expect(next).toMatchObject({ outcome: "claimed", position: 1, ...nothing });
    }

    describe.each(waits)("of a run that waits for %s", (_, arrange) => {
      test("tells the turn where that came first, and is looked at as the resume has armed", async () => {
        const wait = await arrange(stage);
        const [told, resumed] = await stage.collide({ first: wait.end, second: resume(wait.run) });
        expect(told).toMatchObject(wait.told(null));
        expect(resumed).toMatchObject({ outcome: "resumed", turn: 2, branches: null });
        expect(await wait.run.state()).toMatchObject({ status: "parked", isReady: true, dueAt: soon + second });
        await expectOfferedOnce(wait);
      });

      test("tells no turn where that rolls back: the run waits", async () => {
        const wait = await arrange(stage);
        const [, resumed] = await stage.collide({ first: wait.end, second: resume(wait.run), ends: "rollback" });
        expect(resumed).toMatchObject({ outcome: "resumed", turn: null, branches: null });
        expect(await wait.run.state()).toMatchObject({ status: "parked", isReady: false, dueAt: soon + second });
        const claimed = await wait.run.claim(stage.onlooker, { turn: 2, token: "second" });
        expect(claimed).toMatchObject({ outcome: "not_ready" });
        expect(await wait.end(stage.onlooker)).toMatchObject(wait.told(2));
        await expectOfferedOnce(wait);
      });

      test("leaves the turn to be told by what waited for it, which has the run looked at sooner", async () => {
        const wait = await arrange(stage);
        const [resumed, told] = await stage.collide({ first: resume(wait.run), second: wait.end });
        expect(resumed).toMatchObject({ outcome: "resumed", turn: null, branches: null });
        expect(told).toMatchObject(wait.told(2));
        expect(await wait.run.state()).toMatchObject({ status: "parked", isReady: true, dueAt: soon });
        await expectOfferedOnce(wait);
      });

      test("that rolls back leaves the run paused, with what has come", async () => {
        const wait = await arrange(stage);
        const [, told] = await stage.collide({ first: resume(wait.run), second: wait.end, ends: "rollback" });
        expect(told).toMatchObject(wait.told(null));
        expect(await wait.run.claim(stage.onlooker, { turn: 2, token: "second" })).toEqual({ outcome: "paused" });
        expect(await wait.run.state()).toMatchObject({ status: "parked", isReady: true, dueAt: null });
        expect(await resume(wait.run)(stage.onlooker)).toMatchObject({ outcome: "resumed", turn: 2 });
        await expectOfferedOnce(wait);
      });
    });

    describe("of a run whose turn was at work when its pause came", () => {
      async function aPausedTurn() {
        const run = await aRunAtWork(stage);
        await pause(run);
        const finish = (session: Session) =>
          run.finish(session, {
            ...{ token: "first", records: [aRecord("step", "a")], next: "ready" },
            claim: { turn: 2, token: "second" },
          });
        return { run, finish };
      }
      const expectReady = async (run: Run, dueAt: number) => {
        const state = { status: "parked", turn: 2, token: null, isReady: true, dueAt };
        expect(await run.state()).toMatchObject(state);
        expect(await run.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({ outcome: "claimed" });
        expect(await run.history()).toEqual(["a"]);
      };
      const isPaused = { outcome: "finished", status: "parked", claim: { outcome: "paused" } };

      test("tells the next turn where the finish came first", async () => {
        const { run, finish } = await aPausedTurn();
        const [finished, resumed] = await stage.collide({ first: finish, second: resume(run) });
        expect(finished).toMatchObject(isPaused);
        expect(resumed).toMatchObject({ outcome: "resumed", turn: 2, branches: null });
        await expectReady(run, soon + second);
      });

      test("tells no turn where the finish rolls back, since its lease stands", async () => {
        const { run, finish } = await aPausedTurn();
        const [, resumed] = await stage.collide({ first: finish, second: resume(run), ends: "rollback" });
        expect(resumed).toMatchObject({ outcome: "resumed", turn: null });
        expect(await run.state()).toMatchObject({ status: "running", turn: 1 });
        expect(await run.history()).toEqual([]);
        expect(await finish(stage.onlooker)).toMatchObject({ outcome: "finished", claim: { outcome: "claimed" } });
      });

      test("tells no turn where the finish waits for it, which claims the next turn", async () => {
        const { run, finish } = await aPausedTurn();
        const [resumed, finished] = await stage.collide({ first: resume(run), second: finish });
        expect(resumed).toMatchObject({ outcome: "resumed", turn: null });
        expect(finished).toMatchObject({ outcome: "finished", claim: { outcome: "claimed", turn: 2 } });
        expect(await run.history()).toEqual(["a"]);
      });

      test("that rolls back lets the finish claim nothing", async () => {
        const { run, finish } = await aPausedTurn();
        const [, finished] = await stage.collide({ first: resume(run), second: finish, ends: "rollback" });
        expect(finished).toMatchObject(isPaused);
        expect(await run.state()).toMatchObject({ dueAt: null });
        expect(await resume(run)(stage.onlooker)).toMatchObject({ outcome: "resumed", turn: 2 });
        await expectReady(run, soon + second);
      });
    });
  },
  { perTest: true },
);
