/** Turns of several runs in one call: what one of them meets is its own affair, also where the others are done as a set. */
import { beforeEach, describe, expect, test } from "vitest";
import type { FinishAnswer } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { acceptRecords, refuseRecords } from "../postgres/refusals.ts";
import { aRecord, aRun, aRunAtWork, aWaitFor, branches, minute, noon, type Run, soon, terms, tokenOf } from "./runs.ts";
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

      test("leaves those interrupted that have got nowhere", async () => {
        await stage.onlooker.query("update layover.run_state set is_interrupted = run_id <> $1", [at(2).id]);
        const left: Finish = { token: "first", next: "ready" };
        await finish(goesOn, { 1: left, 2: left })(stage.onlooker);
        const rows = await stage.look("select run_id from layover.run_state where is_interrupted");
        expect(rows).toEqual([{ run_id: at(1).id }]);
      });

      test("has each run that goes on looked at when it has armed that, and ready though the clock is set back", async () => {
        await stage.onlooker.query("update layover.run_state set ready_at = layover.now()");
        const armed = (index: number) => soon + index;
        await finish((index) => ({ ...goesOn(index), armed: [armed(index)] }))(stage.onlooker);
        await stage.clock.set(noon - 1);
        expect(await states()).toMatchObject(ids.map((_, index) => ({ isReady: true, dueAt: armed(index) })));
      });

      test("finishes no run of another namespace", async () => {
        const turns = runs.map((run, index) => run.toFinish(goesOn(index)));
        const { turns: answers } = await stage.onlooker.call("finish_turns", {
          ...terms,
          namespace: "elsewhere",
          turns,
        });
        expect(answers).toMatchObject(ids.map(() => ({ outcome: "unknown" })));
        expect(await histories()).toEqual([[], [], [], [], []]);
      });

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
  },
  { perTest: true },
);
