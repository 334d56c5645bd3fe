/** Turns of several branches of one run in one call: what one of them meets is its own affair, also in a set. */
import { describe, expect, test } from "vitest";
import type { FinishAnswer } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aFanOut,
  aMap,
  aParkedRun,
  branches,
  minute,
  noon,
  at as place,
  type Run,
  second,
  terms,
  tokenOf,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a set of",
  (database) => {
    const stage = stageOn(database);

    describe("results of branches", () => {
      const paths = ["c", "a", "d", "b"];
      type Finish = Parameters<Run["toFinishBranch"]>[1];
      const finish =
        (run: Run, changes: Readonly<Record<string, Partial<Finish>>> = {}, turns: readonly object[] = []) =>
        async (session: Session): Promise<readonly FinishAnswer[]> => {
          const results = paths.map((path) => run.toFinishBranch(path, { token: path, ...changes[path] }));
          return (await session.call("finish_turns", { ...terms, turns: [...results, ...turns] })).turns;
        };
      const recorded = (more: object = {}) => ({
        outcome: "finished",
        turn: 2,
        continues: null,
        branches: null,
        ...more,
      });
      const continuing = (answers: readonly FinishAnswer[]) =>
        answers.flatMap((answer) => ("continues" in answer && answer.continues != null ? [answer.continues] : []));

      test("are recorded each once, and make their run ready once", async () => {
        const run = await aFanOut(stage, paths);
        const answers = await finish(run)(stage.onlooker);
        expect(answers).toMatchObject(paths.map(() => ({ outcome: "finished", turn: 2, branches: null })));
        expect(continuing(answers)).toEqual([2]);
        expect((await run.history()).toSorted()).toEqual(paths.toSorted());
        expect(await run.state()).toMatchObject({ isReady: true, lastPosition: 4 });
        expect(await finish(run)(stage.onlooker)).toEqual(answers);
        expect(await run.history()).toHaveLength(4);
      });

      test("of a map make their run ready with the last one, and give their slots to those that queue", async () => {
        const queue = ["e", "f", "g"];
        const run = await aMap(stage, [...paths, ...queue], { slots: 4 });
        const answers = await finish(run)(stage.onlooker);
        expect(continuing(answers)).toEqual([]);
        const readied = answers.flatMap((answer) => ("branches" in answer ? (answer.branches ?? []) : []));
        expect(readied.map(({ path }) => path).toSorted()).toEqual(queue);
        expect(await run.state()).toMatchObject({ isReady: false, lastPosition: 4 });
        const turns = queue.map((path) => ({ ...run.toClaim({ token: path }), ...place(path) }));
        const { turns: claims } = await stage.onlooker.call("claim_turns", { ...terms, turns });
        expect(claims).toMatchObject(queue.map(() => ({ outcome: "claimed" })));
        const last = queue.map((path) => run.toFinishBranch(path, { token: path }));
        const { turns: ends } = await stage.onlooker.call("finish_turns", { ...terms, turns: last });
        expect(continuing(ends)).toEqual([2]);
        expect(await run.state()).toMatchObject({ isReady: true, lastPosition: 7 });
      });

      test("continue a map that fails fast with the first failure among them", async () => {
        const run = await aMap(stage, [...paths, "late"], { failsFast: true });
        const answers = await finish(run, { d: { isFailure: true } })(stage.onlooker);
        expect(continuing(answers)).toEqual([2]);
        expect(await run.state()).toMatchObject({ isReady: true });
      });

      test("are recorded beside those that come twice, too late, or from strangers", async () => {
        const run = await aFanOut(stage, paths);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        const twice = [run.toFinishBranch("d", { token: "d" }), run.toFinishBranch("d", { token: "d" })];
        const answers = await finish(run, { c: { token: "stranger" } }, twice)(stage.onlooker);
        expect(answers.map(({ outcome }) => outcome)).toEqual(["superseded", ...Array(5).fill("finished")]);
        expect(answers[4]).toEqual(answers[2]);
        expect(answers[5]).toEqual(answers[2]);
        expect((await run.history()).toSorted()).toEqual(["a", "b", "d"]);
      });

      test("are recorded beside a bad one, and one whose attempt failed", async () => {
        const run = await aFanOut(stage, paths);
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: second };
        const turns = [
          { ...run.toFinishBranch("c", { token: "c" }), record: { value: "0null", at: "bad" } },
          run.toFinishBranch("a", { token: "a", attempt }),
          run.toFinishBranch("d", { token: "d" }),
          run.toFinishBranch("b", { token: "b" }),
        ];
        const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
        expect(answers).toMatchObject([
          { outcome: "raised", sqlState: "22P02" },
          ...["a", "d", "b"].map(() => ({ outcome: "finished", turn: 2 })),
        ]);
        expect((await run.history()).toSorted()).toEqual(["b", "d"]);
        expect(await run.pending()).toMatchObject({ a: { token: null }, c: { token: tokenOf("c") } });
      });

      test("never stand before the record ahead of them", async () => {
        const run = await aFanOut(stage, paths);
        const turns = paths.map((path, index) => {
          const turn = run.toFinishBranch(path, { token: path });
          return { ...turn, record: { ...turn.record, at: noon + (index % 2) * second } };
        });
        await stage.onlooker.call("finish_turns", { ...terms, turns });
        const rows = await stage.look(
          "select layover.to_ms(recorded_at)::float8 as at from layover.record order by position",
        );
        const times = rows.map(({ at }) => Number(at));
        expect(times).toEqual(times.toSorted((a, b) => a - b));
        expect(times).toHaveLength(4);
      });

      test("of a run that was paused meanwhile are recorded, and continue nothing", async () => {
        const run = await aFanOut(stage, paths);
        const pause = (session: Session) =>
          session.query("update layover.run_state set paused_at = layover.now(), due_at = null");
        const [, answers] = await stage.collide({ first: pause, second: finish(run) });
        expect(answers).toMatchObject(paths.map(() => recorded()));
        expect(await run.state()).toMatchObject({ dueAt: null, lastPosition: 4 });
      });

      test.each([
        ["has locked the run", true],
        ["has locked the branch only", false],
      ])(
        "of a branch that a claim took over meanwhile that %s is superseded; the others are recorded",
        async (_, alone) => {
          const run = await aFanOut(stage, paths);
          await stage.clock.advance(2 * minute);
          const takeOver = (session: Session) => run.claimBranch(session, "a", { token: "other", alone });
          const [taken, answers] = await stage.collide({ first: takeOver, second: finish(run) });
          expect(taken).toMatchObject({ outcome: "claimed" });
          expect(answers.map(({ outcome }) => outcome)).toEqual(["finished", "superseded", "finished", "finished"]);
          expect((await run.history()).toSorted()).toEqual(["b", "c", "d"]);
        },
      );
    });

    describe("claims of branches", () => {
      const paths = ["c", "a", "d", "b"];
      const claim =
        (
          run: Run,
          { turns = [] as readonly object[], ...more }: { turns?: readonly object[]; [name: string]: unknown } = {},
        ) =>
        async (session: Session) => {
          const asked = paths.map((path) => ({ ...run.toClaim({ token: path }), ...place(path) }));
          return (await session.call("claim_turns", { ...terms, ...more, turns: [...asked, ...turns] })).turns;
        };
      const claimed = { outcome: "claimed", turn: 1, position: 0, attempts: 0, claims: 0, run: { workflow: "flow" } };

      test("give each its lease, and answer the same when they come again", async () => {
        const run = await aParkedRun(stage, branches(paths));
        const answers = await claim(run)(stage.onlooker);
        expect(answers).toMatchObject(paths.map(() => claimed));
        const leased = { turn: 1, leasedUntil: noon + minute };
        expect(await run.pending()).toMatchObject(Object.fromEntries(paths.map((path) => [path, leased])));
        expect(await claim(run)(stage.onlooker)).toEqual(answers);
      });

      test("answer only what is new to a process that holds the run", async () => {
        const run = await aParkedRun(stage, branches(paths));
        const turns = ["a", "b"].map((path) => ({
          ...run.toClaim({ token: path, have: { epoch: 0, position: 0 } }),
          ...place(path),
        }));
        const { turns: answers } = await stage.onlooker.call("claim_turns", { ...terms, turns });
        expect(answers).toMatchObject([0, 1].map(() => ({ outcome: "claimed", have: 0, records: null, run: null })));
      });

      test("tell each apart that cannot be claimed", async () => {
        const run = await aMap(stage, paths, { slots: 3 });
        await run.finishBranch(stage.onlooker, "c", { token: "c" });
        const again = { ...run.toClaim({ token: "b", turn: 7 }), ...place("b") };
        expect(await claim(run, { turns: [again] })(stage.onlooker)).toMatchObject([
          { outcome: "superseded" },
          { outcome: "claimed" },
          { outcome: "claimed" },
          { outcome: "claimed" },
          { outcome: "stale", turn: 1 },
        ]);
      });

      test.each([
        ["of versions that are not carried here", { versions: { flow: [2] } }, "not_here"],
        ["of another environment", { environment: "other" }, "wrong_environment"],
      ])("%s lease none", async (_, more, outcome) => {
        const run = await aParkedRun(stage, branches(paths));
        expect(await claim(run, more)(stage.onlooker)).toEqual(paths.map(() => ({ outcome })));
        expect(Object.values(await run.pending()).map(({ token }) => token)).toEqual([null, null, null, null]);
      });

      test("lease none of a run that was paused before they had the locks", async () => {
        const run = await aParkedRun(stage, branches(paths));
        const pause = async (session: Session) => {
          await session.query("update layover.run_state set paused_at = layover.now(), due_at = null");
          await session.query("select from layover.pending order by path for update");
        };
        const [, answers] = await stage.collide({ first: pause, second: claim(run) });
        expect(answers).toEqual(paths.map(() => ({ outcome: "paused" })));
      });

      test("lease those that nobody else leased meanwhile", async () => {
        const run = await aParkedRun(stage, branches(paths));
        const other = (session: Session) => run.claimBranch(session, "b", { token: "other" });
        const [, answers] = await stage.collide({ first: other, second: claim(run) });
        expect(answers.map(({ outcome }) => outcome)).toEqual(["claimed", "claimed", "claimed", "busy"]);
      });
    });
  },
  { perTest: true },
);
