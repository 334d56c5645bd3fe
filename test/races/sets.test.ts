/** Many turns in one call: whatever one of them meets is its own affair, also where the others are done as a set. */
import { beforeEach, describe, expect, test } from "vitest";
import type { FinishAnswer } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { acceptRecords, refuseRecords } from "../postgres/refusals.ts";
import {
  aFanOut,
  aMap,
  aParkedRun,
  aRecord,
  aRun,
  aRunAtWork,
  aWaitFor,
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

/** Ids of runs, in the order in which the runs are asked for. It is not the order of the ids. */
const ids = [4, 2, 5, 1, 3].map((number) => `00000000-0000-7000-8000-00000000000${number}`);

describeSomePostgres(
  "a set of",
  (database) => {
    const stage = stageOn(database);
    let runs: Run[];
    /** Answers the run at this place of the set. */
    const at = (place: number): Run => {
      const run = runs[place];
      if (run === undefined) throw new Error(`There is no run at ${place}.`);
      return run;
    };
    const states = () => Promise.all(runs.map((run) => run.state()));
    const histories = () => Promise.all(runs.map((run) => run.history()));

    describe("finishes", () => {
      beforeEach(async () => {
        runs = [];
        for (const runId of ids) runs.push(await aRunAtWork(stage, { runId }));
      });
      type Finish = Parameters<Run["toFinish"]>[0];
      const goesOn = (index: number): Finish => ({
        token: "first",
        next: "ready",
        records: [aRecord("step", `step ${index}`)],
      });
      const claimsOn = (index: number): Finish => ({
        ...goesOn(index),
        claim: { token: "second", turn: 2, have: { epoch: 0, position: 1 } },
      });
      const finish =
        (make: (index: number) => Finish, changes: Readonly<Record<number, Finish>> = {}) =>
        async (session: Session): Promise<readonly FinishAnswer[]> => {
          const turns = runs.map((run, index) => run.toFinish(changes[index] ?? make(index)));
          return (await session.call("finish_turns", { ...terms, turns })).turns;
        };
      const steps = ids.map((_, index) => [`step ${index}`]);
      const ready = { outcome: "finished", turn: 2, status: "parked", isReady: true };

      test.each([
        ["go on", goesOn, { status: "parked", turn: 2, lastPosition: 1, isReady: true }, ready],
        [
          "go on, each claiming its next turn",
          claimsOn,
          { status: "running", turn: 2, lastPosition: 1, token: tokenOf("second"), leasedUntil: noon + minute },
          { ...ready, claim: { outcome: "claimed", turn: 2, position: 1, have: 1 } },
        ],
        [
          "end",
          (index: number): Finish => ({ ...goesOn(index), next: "completed", value: `0${index}` }),
          { status: "completed", turn: 2, lastPosition: 1, dueAt: null, readyAt: null },
          { outcome: "finished", turn: 2, status: "completed", isReady: false },
        ],
        [
          "fail",
          (index: number): Finish => ({ ...goesOn(index), next: "failed", value: `0${index}` }),
          { status: "failed", turn: 2, lastPosition: 1, dueAt: null, readyAt: null },
          { outcome: "finished", turn: 2, status: "failed", isReady: false },
        ],
      ] as const)(
        "that %s moves every run, and answers the same when it comes again",
        async (_, make, state, answer) => {
          const answers = await finish(make)(stage.onlooker);
          expect(answers).toMatchObject(ids.map(() => answer));
          expect(await histories()).toEqual(steps);
          expect(await states()).toMatchObject(ids.map(() => state));
          expect(await finish(make)(stage.onlooker)).toMatchObject(answers);
          expect(await histories()).toEqual(steps);
        },
      );

      test("keeps the result of each run that completes", async () => {
        await finish((index) => ({ ...goesOn(index), next: "completed", value: `0${index}` }))(stage.onlooker);
        expect((await states()).map(({ result }) => result)).toEqual(["00", "01", "02", "03", "04"]);
      });

      test.each([
        ["a record of a kind that there is not", { records: [{ ...aRecord("step", "bad"), kind: "bad" }] }, "23514"],
        ["a number that is none", { records: [{ ...aRecord("step", "bad"), attempts: "bad" }] }, "22P02"],
        ["a number that is too large", { records: [{ ...aRecord("step", "bad"), attempts: 40_000 }] }, "22003"],
        ["a record without a path", { records: [{ ...aRecord("step", "bad"), path: null }] }, "23502"],
        ["a position that is none", { position: "bad" }, "22P02"],
      ])("with a bad one among them records the others: %s", async (_, bad, sqlState) => {
        const broken = { ...goesOn(2), ...bad } as Finish;
        const answers = await finish(claimsOn, { 2: broken })(stage.onlooker);
        expect(answers[2]).toMatchObject({ outcome: "raised", sqlState, message: expect.any(String) });
        expect(answers.filter(({ outcome }) => outcome === "finished")).toHaveLength(4);
        expect(await histories()).toEqual(steps.map((step, index) => (index === 2 ? [] : step)));
        expect(await at(2).state()).toMatchObject({ status: "running", turn: 1, token: tokenOf("first") });
      });

      test.each(["53100", "25006", "42501", "XX000", "55P03", "58030", "P0001"])(
        "with one among them that the database refuses with %s records the others",
        async (sqlState) => {
          await refuseRecords(stage.onlooker, sqlState, "new.path = 'step 2'");
          const answers = await finish(claimsOn)(stage.onlooker);
          expect(answers[2]).toMatchObject({ outcome: "raised", sqlState, message: "refused" });
          expect(answers.filter(({ outcome }) => outcome === "finished")).toHaveLength(4);
          expect(await histories()).toEqual(steps.map((step, index) => (index === 2 ? [] : step)));
          expect(await at(2).state()).toMatchObject({ status: "running", turn: 1, token: tokenOf("first") });
        },
      );

      test.each(["40P01", "40001"])("fails as a whole with %s, and all of it may be sent again", async (sqlState) => {
        await refuseRecords(stage.onlooker, sqlState, "new.path = 'step 2'");
        await expect(finish(claimsOn)(stage.onlooker)).rejects.toMatchObject({ code: sqlState });
        expect(await histories()).toEqual([[], [], [], [], []]);
        await acceptRecords(stage.onlooker);
        expect(await finish(claimsOn)(stage.onlooker)).toMatchObject(ids.map(() => ({ outcome: "finished" })));
      });

      test("answers each in its place where some do more than go on", async () => {
        const answers = await finish(claimsOn, {
          1: { token: "first", demands: branches(["a", "b"]) },
          3: { token: "first", demands: [aWaitFor("address")] },
          4: { token: "stranger" },
        })(stage.onlooker);
        expect(answers).toMatchObject([
          { outcome: "finished", claim: { outcome: "claimed" } },
          { outcome: "finished", branches: [{ path: "a" }, { path: "b" }] },
          { outcome: "finished", claim: { outcome: "claimed" } },
          { outcome: "finished", isReady: false, readyAt: null },
          { outcome: "superseded" },
        ]);
        expect(await histories()).toEqual([["step 0"], [], ["step 2"], [], []]);
      });

      test("keeps the changes of its code that each run has met", async () => {
        const turns = runs.map((run, index) =>
          run.toFinish({ ...goesOn(index), patches: [{ path: `change ${index}`, position: 0 }] }),
        );
        await stage.onlooker.call("finish_turns", { ...terms, turns });
        const kept = await stage.look("select run_id, path from layover.patch");
        expect(new Map(kept.map((row) => [row["run_id"], row["path"]]))).toEqual(
          new Map(runs.map((run, index) => [run.id, `change ${index}`])),
        );
      });

      test("answers both where one run comes twice", async () => {
        const turns = [at(0), at(0), at(1)].map((run) => run.toFinish(goesOn(0)));
        const { turns: answers } = await stage.onlooker.call("finish_turns", { ...terms, turns });
        expect(answers).toMatchObject([ready, ready, ready]);
        expect((await histories()).slice(0, 2)).toEqual([["step 0"], ["step 0"]]);
      });

      test("offers a run the signal whose lock it waited for", async () => {
        const signal = (session: Session) => at(0).signal(session, "address");
        const [, answers] = await stage.collide({ first: signal, second: finish(claimsOn) });
        expect(answers).toMatchObject(ids.map(() => ({ claim: { outcome: "claimed", turn: 2 } })));
        expect(answers[0]).toMatchObject({ claim: { signals: [{ name: "address" }] } });
        expect(await histories()).toEqual(steps);
      });

      test("claims no further a run whose pause it waited for", async () => {
        const pause = (session: Session) =>
          session.query("update layover.run_state set paused_at = layover.now(), due_at = null where run_id = $1", [
            at(0).id,
          ]);
        const [, answers] = await stage.collide({ first: pause, second: finish(claimsOn) });
        expect(answers.map((answer) => ("claim" in answer ? answer.claim?.outcome : answer.outcome))).toEqual([
          "paused",
          ...Array(4).fill("claimed"),
        ]);
        expect(await histories()).toEqual(steps);
        expect(await at(0).state()).toMatchObject({ status: "parked", turn: 2, dueAt: null });
      });

      test("leaves to whoever took it over a run whose lock it waited for", async () => {
        await stage.clock.advance(2 * minute);
        const takeOver = (session: Session) => at(0).claim(session, { token: "other", alone: true });
        const [, answers] = await stage.collide({ first: takeOver, second: finish(claimsOn) });
        expect(answers.map(({ outcome }) => outcome)).toEqual(["superseded", ...Array(4).fill("finished")]);
        expect(await histories()).toEqual([[], ...steps.slice(1)]);
        expect(await at(0).state()).toMatchObject({ status: "running", turn: 1, token: tokenOf("other") });
      });

      test("sent twice at once is done once, and answered the same", async () => {
        const both = { first: finish(claimsOn), second: finish(claimsOn) };
        const [one, other] = await stage.collide(both);
        expect(other).toMatchObject(one);
        expect(await histories()).toEqual(steps);
      });
    });

    describe("claims", () => {
      beforeEach(async () => {
        runs = [];
        for (const runId of ids) runs.push(await aRun(stage, { runId }));
      });
      type Claim = Parameters<Run["toClaim"]>[0];
      const claim =
        (changes: Readonly<Record<number, Claim>> = {}, more: object = {}) =>
        async (session: Session) => {
          const turns = runs.map((run, index) => run.toClaim(changes[index] ?? { token: "first" }));
          return (await session.call("claim_turns", { ...terms, ...more, turns })).turns;
        };
      const claimed = { outcome: "claimed", turn: 1, position: 0, run: { workflow: "flow" } };

      test("gives each run its lease, and answers the same when it comes again", async () => {
        const answers = await claim()(stage.onlooker);
        expect(answers).toMatchObject(ids.map(() => claimed));
        const leased = { status: "running", token: tokenOf("first"), leasedUntil: noon + minute, claims: 0 };
        expect(await states()).toMatchObject(ids.map(() => leased));
        expect(await claim()(stage.onlooker)).toEqual(answers);
      });

      test("answers each in its place, whatever stands in the way of some", async () => {
        await at(0).claim(stage.onlooker, { token: "other" });
        await stage.onlooker.query("update layover.run_state set ready_at = null where run_id = $1", [at(3).id]);
        const changes = { 1: { token: "first", turn: 7 }, 4: { token: "first", alone: true } };
        expect(await claim(changes)(stage.onlooker)).toMatchObject([
          { outcome: "busy", until: noon + minute },
          { outcome: "stale", turn: 1 },
          claimed,
          { outcome: "not_ready", readyAt: null },
          claimed,
        ]);
      });

      test.each([
        ["of versions that are not carried here", { versions: { flow: [2] } }, "not_here"],
        ["of another environment", { environment: "other" }, "wrong_environment"],
        ["of another namespace", { namespace: "other" }, "unknown"],
      ])("%s claims none", async (_, more, outcome) => {
        const before = await states();
        if (outcome === "unknown") await stage.onlooker.call("adopt_environment", { ...terms, ...more });
        expect(await claim({}, more)(stage.onlooker)).toMatchObject(ids.map(() => ({ outcome })));
        expect(await states()).toEqual(before);
      });

      test("claims the others where one run's lock was waited for, and another turn of it won", async () => {
        const other = (session: Session) => at(0).claim(session, { token: "other" });
        const [, answers] = await stage.collide({ first: other, second: claim() });
        expect(answers).toMatchObject([{ outcome: "busy" }, ...Array(4).fill(claimed)]);
        expect((await states()).map(({ token }) => token)).toEqual([
          tokenOf("other"),
          ...Array(4).fill(tokenOf("first")),
        ]);
      });

      test("offers the signal whose lock it waited for", async () => {
        const signal = (session: Session) => at(0).signal(session, "address");
        const [, answers] = await stage.collide({ first: signal, second: claim() });
        expect(answers[0]).toMatchObject({ ...claimed, signals: [{ name: "address" }] });
        expect(answers).toMatchObject(ids.map(() => claimed));
      });
    });

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

      test("of a branch that was taken over meanwhile is superseded; the others are recorded", async () => {
        const run = await aFanOut(stage, paths);
        await stage.clock.advance(2 * minute);
        const takeOver = (session: Session) => run.claimBranch(session, "a", { token: "other", alone: true });
        const [taken, answers] = await stage.collide({ first: takeOver, second: finish(run) });
        expect(taken).toMatchObject({ outcome: "claimed" });
        expect(answers.map(({ outcome }) => outcome)).toEqual(["finished", "superseded", "finished", "finished"]);
        expect((await run.history()).toSorted()).toEqual(["b", "c", "d"]);
      });
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
