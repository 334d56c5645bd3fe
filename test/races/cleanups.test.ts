/** The rows of a cleanup outlive the cancel of their run, for one hour. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aParkedRun,
  aRunAtWork,
  at,
  branches,
  minute,
  noon,
  type Run,
  second,
  shielded,
  soon,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "a cleanup",
  (database) => {
    const stage = stageOn(database);
    const cancel = (run: Run) => run.operate(stage.onlooker, "cancel", { reason: "ordered twice" });
    const callOf =
      (name: "claim_turns" | "finish_turns", ...turns: object[]) =>
      async (session: Session) =>
        (await session.call(name, { ...terms, turns })).turns;
    const claim = (turn: number) => (run: Run, session: Session) => run.claim(session, { turn, token: `turn ${turn}` });
    const claimNow = (run: Run, turn: number) => claim(turn)(run, stage.onlooker);
    const begin = (run: Run, path: string) => run.claimBranch(stage.onlooker, path, { token: path });
    const finish = (run: Run, path: string) => run.finishBranch(stage.onlooker, path, { token: path });
    const claimsOf = (run: Run, paths: readonly string[], token = (path: string) => path) =>
      callOf("claim_turns", ...paths.map((path) => ({ ...run.toClaim({ token: token(path) }), ...at(path) })));
    /** Its second turn waits for these branches: `a`, `b` and `m` are the flow's, and those with `k/` are its cleanup's. */
    const aRunOf = (...paths: readonly string[]) => {
      const demands = branches(paths);
      return aParkedRun(
        stage,
        demands.map((demand) => (demand.path.includes("k/") ? { ...demand, isShielded: true } : demand)),
      );
    };
    const superseded = { outcome: "superseded" };
    const claimed = { outcome: "claimed" };
    const paths = async (run: Run) => Object.keys(await run.pending()).toSorted();

    describe("that is under way when the cancel comes", () => {
      test("is not waited for: the cancel is written beside it, and its row stays", async () => {
        const run = await aRunOf("a", "k/a");
        await begin(run, "k/a");
        expect(await cancel(run)).toMatchObject({ outcome: "cancelling", turn: 2 });
        expect(await claimNow(run, 2)).toMatchObject({ ...claimed, position: 1 });
        expect(await paths(run)).toEqual(["k/a"]);
        expect(await finish(run, "k/a")).toMatchObject({ outcome: "finished" });
        expect(await run.kinds()).toEqual(["closing", "step k/a"]);
      });

      test.each([
        ["alone", ["k/a"]],
        ["in a set", ["k/a", "k/b"]],
      ])("is claimed between the cancel and the claim that writes it, %s", async (_, some) => {
        const run = await aRunOf("a", "k/a", "k/b");
        await cancel(run);
        expect(await claimsOf(run, some)(stage.onlooker)).toMatchObject(some.map(() => claimed));
        expect(await begin(run, "a")).toEqual(superseded);
        expect(await claimNow(run, 2)).toMatchObject({ ...claimed, position: 1 });
        expect(await paths(run)).toEqual(["k/a", "k/b"]);
      });

      test.each([
        ["alone", ["k/a"]],
        ["in a set", ["k/a", "k/b"]],
      ])("is claimed once the cancel is written, %s", async (_, some) => {
        const run = await aRunOf("a", "k/a", "k/b");
        await cancel(run);
        await claimNow(run, 2);
        expect(await claimsOf(run, some)(stage.onlooker)).toMatchObject(some.map(() => claimed));
        expect(await begin(run, "a")).toEqual(superseded);
      });

      test("is claimed after the claim that writes the cancel, and whose lock it waits for", async () => {
        const run = await aRunOf("a", "k/a");
        await cancel(run);
        const [written, begun] = await stage.collide({
          first: (session) => claim(2)(run, session),
          second: (session) => run.claimBranch(session, "k/a", { token: "k/a" }),
        });
        expect([written, begun]).toMatchObject([{ ...claimed, position: 1 }, claimed]);
      });

      test("is claimed before the claim that writes the cancel, and that waits for its lock", async () => {
        const run = await aRunOf("a", "k/a");
        await cancel(run);
        const [begun, written] = await stage.collide({
          first: (session) => run.claimBranch(session, "k/a", { token: "k/a" }),
          second: (session) => claim(2)(run, session),
        });
        expect([begun, written]).toMatchObject([claimed, { ...claimed, position: 1 }]);
        expect(await run.pending()).toMatchObject({ "k/a": { leasedUntil: noon + minute } });
      });

      test.each([
        ["in one call", true],
        ["one by one", false],
      ])("does not keep the last branch of the flow from sending for the run: %s", async (_, isSet) => {
        const run = await aRunOf("a", "b", "k/a");
        for (const path of ["a", "b", "k/a"]) await begin(run, path);
        expect(await cancel(run)).not.toHaveProperty("turn");
        const turns = ["a", "b"].map((path) => run.toFinishBranch(path, { token: path }));
        const answers = [];
        for (const some of isSet ? [turns] : turns.map((turn) => [turn]))
          answers.push(...(await callOf("finish_turns", ...some)(stage.onlooker)));
        expect(answers).toMatchObject([{ continues: null }, { continues: 2 }]);
        expect(await claimNow(run, 2)).toMatchObject({ ...claimed, position: 3 });
      });

      test.each([
        ["in one call", true],
        ["one by one", false],
      ])("does not send for the run while a branch of the flow is at work: %s", async (_, isSet) => {
        const run = await aRunOf("a", "k/a", "k/b");
        for (const path of ["a", "k/a", "k/b"]) await begin(run, path);
        await cancel(run);
        const turns = ["k/a", "k/b"].map((path) => run.toFinishBranch(path, { token: path }));
        for (const some of isSet ? [turns] : turns.map((turn) => [turn]))
          for (const answer of await callOf("finish_turns", ...some)(stage.onlooker))
            expect(answer).toMatchObject({ outcome: "finished", continues: null });
        expect(await claimNow(run, 2)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
      });

      test.each([
        ["in one call", true],
        ["one by one", false],
      ])("sends for the run each time while nobody else is at work: %s", async (_, isSet) => {
        const run = await aRunOf("a", "k/a", "k/b");
        await claimsOf(run, ["k/a", "k/b"])(stage.onlooker);
        await cancel(run);
        const turns = ["k/a", "k/b"].map((path) => run.toFinishBranch(path, { token: path }));
        for (const some of isSet ? [turns] : turns.map((turn) => [turn]))
          for (const answer of await callOf("finish_turns", ...some)(stage.onlooker))
            expect(answer).toMatchObject({ outcome: "finished", continues: 2 });
      });

      test("in one call with the flow's last branch at work sends for the run from that one on", async () => {
        const some = ["k/a", "m", "z/k/a"];
        const run = await aRunOf(...some, "k/b");
        for (const path of [...some, "k/b"]) await begin(run, path);
        await cancel(run);
        const turns = some.map((path) => run.toFinishBranch(path, { token: path }));
        const answers = await callOf("finish_turns", ...turns)(stage.onlooker);
        expect(answers).toMatchObject([{ continues: null }, { continues: 2 }, { continues: 2 }]);
      });

      test("keeps its waits and its attempts, and the flow loses its own", async () => {
        const until = noon + 10 * minute;
        const flow = [aDemand("sleep", "nap", { until }), aDemand("retry", "charge")];
        const run = await aParkedRun(stage, [
          ...flow,
          ...shielded([aDemand("sleep", "k/nap", { until, ordinal: 3 }), aDemand("branch", "k/a", { ordinal: 4 })]),
        ]);
        await cancel(run);
        expect(await claimNow(run, 2)).toMatchObject({ pending: [{ path: "k/nap", until }, { path: "k/a" }] });
        expect(await paths(run)).toEqual(["k/a", "k/nap"]);
      });
    });

    describe("that is under way once the cancel is written", () => {
      /** Parked in its third turn, with its cleanup's branches `k/a` and `k/b`. */
      const aClosingRun = async (...demands: Parameters<typeof shielded>[0]) => {
        const run = await aRunAtWork(stage);
        await cancel(run);
        await run.finish(stage.onlooker, { token: "first", next: "ready" });
        await claimNow(run, 2);
        const more = demands.length === 0 ? branches(["k/a", "k/b"]) : demands;
        const afterIt = more.map((demand) => ({ ...demand, demandedAfter: 1 }));
        await run.finish(stage.onlooker, { token: "turn 2", position: 1, demands: shielded(afterIt) });
        return run;
      };
      /** Just before, or at the end of the hour. */
      const toTheHour = (offset = 0) => stage.clock.set(noon + hour + offset);

      test("has the run go on by each of its results", async () => {
        const run = await aClosingRun();
        await claimsOf(run, ["k/a", "k/b"])(stage.onlooker);
        expect(await finish(run, "k/a")).toMatchObject({ continues: 3 });
        expect(await claimNow(run, 3)).toMatchObject({ ...claimed, position: 2 });
        await run.finish(stage.onlooker, { token: "turn 3", position: 2 });
        expect(await finish(run, "k/b")).toMatchObject({ continues: 4 });
      });

      test("may end the run, though it was cancelled long ago", async () => {
        const run = await aClosingRun();
        await claimsOf(run, ["k/a"])(stage.onlooker);
        await finish(run, "k/a");
        await claimNow(run, 3);
        await toTheHour(second);
        const end = { token: "turn 3", position: 2, next: "cancelled" as const, value: "0{}" };
        expect(await run.finish(stage.onlooker, end)).toMatchObject({ outcome: "finished", status: "cancelled" });
        expect(await run.pending()).toEqual({});
      });

      test("has an hour, and is then ended by a second record, and by no third one", async () => {
        const run = await aClosingRun(aDemand("sleep", "k/nap", { until: noon + 24 * hour }));
        expect(await run.state()).toMatchObject({ readyAt: noon + hour, dueAt: soon });
        await toTheHour(-1);
        expect(await claimNow(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + hour });
        await toTheHour();
        expect(await claimNow(run, 3)).toMatchObject({ ...claimed, position: 2, timeoutAt: null, pending: null });
        expect(await run.kinds()).toEqual(["closing", "closing"]);
        expect(await run.state()).toMatchObject({ cancelledPosition: 1, lastPosition: 2 });
        expect(await run.pending()).toEqual({});
        await stage.clock.advance(24 * hour);
        expect(await run.claim(stage.onlooker, { turn: 3, token: "again" })).toMatchObject({ ...claimed, position: 2 });
        const end = { token: "again", position: 2, next: "cancelled" as const, value: "0{}" };
        expect(await run.finish(stage.onlooker, end)).toMatchObject({ status: "cancelled" });
      });

      test("begins nothing more after its hour, neither alone nor in a set", async () => {
        const run = await aClosingRun();
        await toTheHour();
        expect(await begin(run, "k/a")).toEqual(superseded);
        expect(await claimsOf(run, ["k/a", "k/b"])(stage.onlooker)).toEqual([superseded, superseded]);
      });

      test.each([
        ["in one call", true],
        ["one by one", false],
      ])(
        "is waited for after its hour while it is at work, and its last branch sends for the run: %s",
        async (_, isSet) => {
          const some = ["k/a", "k/b", "k/c", "k/d"];
          const run = await aClosingRun(...branches(some));
          await toTheHour(-second);
          await claimsOf(run, some)(stage.onlooker);
          await toTheHour();
          const readyAt = noon + hour - second + minute;
          expect(await claimNow(run, 3)).toEqual({ outcome: "not_ready", readyAt });
          const turns = some.map((path) => run.toFinishBranch(path, { token: path }));
          const answers = [];
          for (const part of isSet ? [turns.slice(0, 2), turns.slice(2)] : turns.map((turn) => [turn]))
            answers.push(...(await callOf("finish_turns", ...part)(stage.onlooker)));
          expect(answers).toMatchObject([null, null, null, 3].map((continues) => ({ continues })));
          expect(await claimNow(run, 3)).toMatchObject({ ...claimed, position: 6 });
          expect(await run.kinds()).toEqual(["closing", ...some.map((path) => `step ${path}`), "closing"]);
        },
      );

      test("keeps the count of its attempts, over the cancel and after it", async () => {
        const run = await aRunAtWork(stage);
        const attempt = { beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0, retryInMs: minute };
        const failed = { ...attempt, ...at("k/unlock"), number: 2, isShielded: true as const };
        await run.finish(stage.onlooker, { token: "first", attempt: failed });
        const kept = { "k/unlock": { kind: "retry", attempts: 2, isShielded: true } };
        expect(await run.pending()).toMatchObject(kept);
        await cancel(run);
        expect(await claimNow(run, 2)).toMatchObject({ pending: [{ path: "k/unlock", attempts: 2 }] });
        const again = { ...failed, number: 3, retryInMs: 5 * minute };
        await run.finish(stage.onlooker, { token: "turn 2", position: 1, attempt: again });
        expect(await run.pending()).toMatchObject({ "k/unlock": { attempts: 3, isShielded: true } });
        expect(await run.state()).toMatchObject({ readyAt: noon + 5 * minute });
      });
    });
  },
  { perTest: true },
);
