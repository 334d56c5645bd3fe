/** A run whose history is full: its finish asks for the end as a cancel does, and keeps how the run ends. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finish } from "./branching.ts";
import { rowsOn } from "./rows.ts";
import { aParkedRun, aRecord, aRunAtWork, at, branches, minute, noon, type Run, second, shielded } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { callOf, claimsOn } from "./undoing.ts";

describeSomePostgres(
  "a run whose history is full",
  (database) => {
    const stage = stageOn(database);
    const { set, state } = rowsOn(stage);
    const claim = claimsOn(stage);
    const claimed = { outcome: "claimed" };
    const endsAs = { next: "failed", value: '0{"message":"full"}' } as const;
    const limit = { next: "ready", closing: true, cleansUp: true, endsAs } as const;
    type Finish = Partial<Parameters<Run["finish"]>[1]>;
    const endsBy =
      (run: Run, more: Finish = {}) =>
      (session: Session) =>
        run.finish(session, { token: "turn 2", position: 1, ...limit, ...more });
    const cancelBy = (run: Run) => (session: Session) => run.operate(session, "cancel");
    /** Its second turn is under way. The others are pending, and nobody has claimed them. */
    const aRunWith = async (others: Parameters<typeof aParkedRun>[1] = [], options = {}) => {
      const more = others.map((other) => ({ ...other, ordinal: other.ordinal + 1 }));
      const run = await aParkedRun(stage, [...branches(["first"]), ...more], options);
      await run.claimBranch(stage.onlooker, "first", { token: "first" });
      await finish(run, "first")(stage.onlooker);
      await claim(run, 2);
      return run;
    };
    const row = (run: Run) =>
      state(
        run,
        `is_closing as "isClosing", ends_as as "endsAs", cancel_requested_at is not null as "isAsked", cancel_reason as reason, layover.to_ms(timeout_at)::float8 as "timeoutAt"`,
      );
    const reason = "its history is full";
    const asked = { isClosing: false, isAsked: true, endsAs, reason };
    const closing = expect.arrayContaining([expect.arrayContaining(["closing", reason])]);
    const written = { ...claimed, attempted: null, endsAs, records: closing };

    test("keeps the records of its turn, is told so by the next claim, and has an hour for its cleanups", async () => {
      const run = await aRunWith([], { timeoutMs: 2 * minute });
      const told = await endsBy(run, { records: [aRecord("step", "a")] })(stage.onlooker);
      expect(told).toMatchObject({ outcome: "finished", turn: 3, isReady: true });
      expect(await row(run)).toEqual({ ...asked, timeoutAt: noon + 2 * minute });
      expect(await claim(run, 3)).toMatchObject({ ...written, position: 3, timeoutAt: noon + 60 * minute });
      expect(await run.kinds()).toEqual(["step first", "step a", "closing"]);
    });

    test("and one whose handler has thrown amid a cleanup close for different reasons", async () => {
      const [full, thrown] = [await aRunWith(), await aRunWith()];
      const failure = { timeouts: [], lost: [], repeats: [] };
      await endsBy(full)(stage.onlooker);
      await endsBy(thrown, { endsAs: { ...endsAs, failure } })(stage.onlooker);
      expect(await row(full)).toMatchObject({ isAsked: true, reason });
      expect(await row(thrown)).toMatchObject({ isAsked: true, reason: "its handler has thrown" });
    });

    test("is told how it ends by each claim: after a finish of one step, in a set, and with pending rows", async () => {
      const run = await aRunWith();
      const other = await aRunWith();
      for (const one of [run, other]) {
        await endsBy(one)(stage.onlooker);
        await claim(one, 3);
      }
      const have = { epoch: 0, position: 3, version: 1 };
      const steps = [run, other].map((one) =>
        one.toFinish({
          ...{ token: "turn 3", position: 2, next: "ready", records: [aRecord("step", "k/a")] },
          claim: { turn: 4, token: "turn 4", have },
        }),
      );
      const answers = await callOf("finish_turns", ...steps)(stage.onlooker);
      expect(answers).toMatchObject([{ claim: { ...claimed, endsAs } }, { claim: { ...claimed, endsAs } }]);
      for (const one of [run, other]) await one.finish(stage.onlooker, { token: "turn 4", position: 3, next: "ready" });
      const claims = [run, other].map((one) => one.toClaim({ turn: 5, token: "turn 5", have }));
      expect(await callOf("claim_turns", ...claims)(stage.onlooker)).toMatchObject([
        { ...claimed, have: 3, endsAs },
        { ...claimed, have: 3, endsAs },
      ]);
    });

    test("keeps how it ends until it is over, in a set", async () => {
      const runs = [await aRunWith(), await aRunWith()];
      for (const run of runs) {
        await endsBy(run)(stage.onlooker);
        await claim(run, 3);
      }
      const goOn = runs.map((run) =>
        run.toFinish({ token: "turn 3", position: 2, next: "ready", records: [aRecord("step", "k/a")] }),
      );
      const parked = { outcome: "finished", turn: 4, isReady: true };
      expect(await callOf("finish_turns", ...goOn)(stage.onlooker)).toMatchObject([parked, parked]);
      for (const run of runs) {
        expect(await row(run)).toMatchObject({ endsAs });
        await claim(run, 4);
      }
      const over = runs.map((run) => run.toFinish({ token: "turn 4", position: 3, ...endsAs }));
      const ended = { outcome: "finished", status: "failed" };
      expect(await callOf("finish_turns", ...over)(stage.onlooker)).toMatchObject([ended, ended]);
      for (const run of runs) expect(await row(run)).toMatchObject({ endsAs: null });
    });

    test("is answered the same when its finish comes again", async () => {
      const run = await aRunWith(branches(["b"]));
      const told = await endsBy(run)(stage.onlooker);
      expect(await endsBy(run)(stage.onlooker)).toEqual(told);
      expect(await row(run)).toMatchObject(asked);
    });

    describe("and a cancel", () => {
      test("that waits for the finish: it is refused, since the run is ending", async () => {
        const run = await aRunWith();
        const [, told] = await stage.collide({ first: endsBy(run), second: cancelBy(run) });
        expect(told).toMatchObject({ outcome: "not_applicable", status: "cancelling" });
        expect(await claim(run, 3)).toMatchObject(written);
        expect(await run.operate(stage.onlooker, "cancel")).toMatchObject({ outcome: "not_applicable" });
      });

      test("that the finish waits for: the run is cancelled, and its records are kept", async () => {
        const run = await aRunWith();
        const ends = endsBy(run, { records: [aRecord("step", "a")] });
        const [told] = await stage.collide({ first: cancelBy(run), second: ends });
        expect(told).toMatchObject({ outcome: "cancelling" });
        expect(await row(run)).toMatchObject({ endsAs: null, reason: "to see" });
        expect(await claim(run, 3)).toMatchObject({ ...claimed, endsAs: null });
        expect(await run.kinds()).toEqual(["step first", "step a", "closing"]);
      });

      test.each([
        ["failed", "not_applicable"],
        ["cancelled", "cancelling"],
      ])("that comes while it is undone and ends as %s is answered %s", async (next, outcome) => {
        const run = await aRunWith();
        await endsBy(run)(stage.onlooker);
        await claim(run, 3);
        const ending = aRecord("ending", "", { value: JSON.stringify({ next, error: "0{}", owed: [at("first")] }) });
        await run.finish(stage.onlooker, { token: "turn 3", position: 2, next: "ready", ending: 1, records: [ending] });
        expect(await run.operate(stage.onlooker, "cancel")).toMatchObject({ outcome });
      });
    });

    describe("and a branch", () => {
      const begin = (run: Run) => (session: Session) => run.claimBranch(session, "b", { token: "b" });

      test("that is claimed after the finish begins nothing", async () => {
        const run = await aRunWith(branches(["b"]));
        await endsBy(run)(stage.onlooker);
        expect(await begin(run)(stage.onlooker)).toEqual({ outcome: "superseded" });
        expect(await claim(run, 3)).toMatchObject(written);
        expect(await run.pending()).toEqual({});
      });

      test("that is claimed before the finish is stored is waited for, and recorded before the handler is told", async () => {
        const run = await aRunWith(branches(["b"]));
        const session = await stage.session("finish");
        await session.begin();
        await endsBy(run)(session);
        expect(await begin(run)(stage.onlooker)).toMatchObject(claimed);
        await session.commit();
        expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
        expect(await finish(run, "b")(stage.onlooker)).toMatchObject({ outcome: "finished", continues: 3 });
        expect(await claim(run, 3)).toMatchObject(written);
        expect(await run.kinds()).toEqual(["step first", "step b", "closing"]);
      });

      test("that cleans up goes on", async () => {
        const run = await aRunWith(shielded(branches(["b"])));
        await endsBy(run)(stage.onlooker);
        expect(await begin(run)(stage.onlooker)).toMatchObject(claimed);
        expect(await claim(run, 3)).toMatchObject(written);
        expect(await finish(run, "b")(stage.onlooker)).toMatchObject({ outcome: "finished" });
        expect(await run.kinds()).toEqual(["step first", "closing", "step b"]);
      });

      test("that was recorded meanwhile defers the finish, and nothing begins after it", async () => {
        const map = { path: "all", slots: 1, failsFast: true };
        const run = await aRunWith(branches(["all/a", "all/b"], map), { timeoutMs: 2 * minute });
        await run.claimBranch(stage.onlooker, "all/a", { token: "all/a" });
        const [, told] = await stage.collide({ first: finish(run, "all/a"), second: endsBy(run) });
        expect(told).toMatchObject({ outcome: "deferred", turn: 3, isReady: true });
        expect(await row(run)).toEqual({ ...asked, timeoutAt: noon + 2 * minute });
        expect(await run.claimBranch(stage.onlooker, "all/b", { token: "b" })).toEqual({ outcome: "superseded" });
        expect(await claim(run, 3)).toMatchObject(written);
        expect(await run.kinds()).toEqual(["step first", "step all/a", "closing"]);
      });

      test("that was recorded meanwhile defers a finish with records: the run goes on, and finds it anew", async () => {
        const run = await aRunWith(branches(["b"]));
        await run.claimBranch(stage.onlooker, "b", { token: "b" });
        await finish(run, "b")(stage.onlooker);
        const told = await endsBy(run, { records: [aRecord("step", "a")] })(stage.onlooker);
        expect(told).toMatchObject({ outcome: "deferred" });
        expect(await row(run)).toMatchObject({ isClosing: false, isAsked: false, endsAs: null, reason: null });
      });
    });

    test("times out where its last record came too late", async () => {
      const run = await aRunWith([], { timeoutMs: 1_000 });
      await stage.clock.advance(2 * second);
      await endsBy(run, { records: [aRecord("step", "a", { at: noon + 2 * second })] })(stage.onlooker);
      expect(await row(run)).toMatchObject({ endsAs: null, reason: null });
      expect(await claim(run, 3)).toMatchObject({
        ...claimed,
        endsAs: { value: expect.stringContaining("run_timeout") },
      });
      expect(await run.kinds()).toEqual(["step first", "step a", "closing"]);
    });

    test("stays paused, and is told when it is resumed", async () => {
      const run = await aRunAtWork(stage);
      await set(run, "paused_at = layover.now(), due_at = null");
      await endsBy(run, { token: "first", position: 0 })(stage.onlooker);
      expect(await claim(run, 2)).toEqual({ outcome: "paused" });
      expect(await run.operate(stage.onlooker, "resume")).toMatchObject({ outcome: "resumed", turn: 2 });
      expect(await claim(run, 2)).toMatchObject(written);
    });
  },
  { perTest: true },
);
