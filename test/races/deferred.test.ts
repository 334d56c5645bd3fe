/** A finish that saw less than there is by now: its run is ready again, and as if that turn had never had any trouble. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aMap, aParkedRun, aRecord, at, aWaitFor, branches, minute, noon, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { closesBy } from "./undoing.ts";

describeSomePostgres(
  "a finish that is deferred",
  (database) => {
    const stage = stageOn(database);
    /** A continuation is under way that has not seen the record of the branch. */
    const aRunToDefer = async (): Promise<Run> => {
      const run = await aParkedRun(stage, [...branches(["a"]), aWaitFor("address", { ordinal: 2 })]);
      await run.claimBranch(stage.onlooker, "a", { token: "a" });
      await run.signal(stage.onlooker, "address");
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await run.finishBranch(stage.onlooker, "a", { token: "a" });
      return run;
    };
    const finish = (run: Run, token = "second", armed = [soon]) =>
      run.finish(stage.onlooker, { token, position: 0, armed });

    test("ends the turn: what had begun alone counts no longer", async () => {
      const run = await aRunToDefer();
      await run.lose(3);
      await stage.clock.advance(2 * minute);
      const again = { token: "third", turn: 2, alone: true };
      expect(await run.claim(stage.onlooker, again)).toMatchObject({ outcome: "claimed", claims: 1 });
      await run.renew(stage.onlooker, "third", { beginnings: 1 });
      expect(await finish(run, "third")).toMatchObject({ outcome: "deferred", turn: 3 });
      expect(await run.state()).toMatchObject({
        status: "parked",
        turn: 3,
        claims: 0,
        beginnings: 0,
        lost: 0,
        isReady: true,
      });
    });

    test("is ready also where it was not when it was claimed: blocked, with branches at work", async () => {
      const run = await aMap(stage, ["a", "b"]);
      await stage.onlooker.query(
        "update layover.run_state set blocked = 'by other code', due_at = null, ready_at = null",
      );
      expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
      await run.finishBranch(stage.onlooker, "a", { token: "a" });
      expect(await finish(run)).toMatchObject({ outcome: "deferred" });
      expect(await run.state()).toMatchObject({ status: "parked", isReady: true });
    });

    test("waits for nobody who has locked what its run waits for", async () => {
      const run = await aRunToDefer();
      await stage.hold("select from layover.pending where run_id = $1 and kind = 'signal' for update", [run.id]);
      expect(await finish(run)).toMatchObject({ outcome: "deferred" });
    });

    test("keeps the input that the run's code has made", async () => {
      const run = await aRunToDefer();
      await stage.onlooker.query("update layover.run set is_input_parsed = false where id = $1", [run.id]);
      const made = { token: "second", position: 0, input: '0"made"' };
      expect(await run.finish(stage.onlooker, made)).toMatchObject({ outcome: "deferred" });
      const input = await stage.look("select input, is_input_parsed from layover.run where id = $1", [run.id]);
      expect(input).toEqual([{ input: '0"made"', is_input_parsed: true }]);
    });

    test("leaves an input alone that it does not have", async () => {
      const run = await aRunToDefer();
      await stage.onlooker.query("update layover.run set is_input_parsed = false where id = $1", [run.id]);
      expect(await finish(run)).toMatchObject({ outcome: "deferred" });
      const input = await stage.look("select input, is_input_parsed from layover.run where id = $1", [run.id]);
      expect(input).toEqual([{ input: "0{}", is_input_parsed: false }]);
    });

    test.each([
      ["a step was carried out", [aRecord("step", "charge")], false],
      ["no step was", [], true],
    ])("is interrupted as before unless %s", async (_, records, isInterrupted) => {
      const run = await aRunToDefer();
      await stage.onlooker.query("update layover.run_state set is_interrupted = true where run_id = $1", [run.id]);
      await run.finish(stage.onlooker, { token: "second", position: 0, records });
      const row = await stage.look("select is_interrupted from layover.run_state where run_id = $1", [run.id]);
      expect(row).toEqual([{ is_interrupted: isInterrupted }]);
    });

    test("keeps the changes of its code that the run had met by what the turn saw", async () => {
      const run = await aRunToDefer();
      const patches = [
        { path: "seen", position: 0 },
        { path: "after a record that is dropped", position: 1 },
      ];
      expect(await run.finish(stage.onlooker, { token: "second", position: 0, patches })).toMatchObject({
        outcome: "deferred",
      });
      expect(await run.claim(stage.onlooker, { token: "third", turn: 3 })).toMatchObject({
        patches: [{ path: "seen", position: 0 }],
      });
    });

    test("keeps the last that the run had said of itself by what the turn saw", async () => {
      const run = await aRunToDefer();
      const says = [
        { value: '0"first"', saidAfter: 0 },
        { value: '0"second"', saidAfter: 0 },
        { value: '0"after a record that is dropped"', saidAfter: 1 },
      ];
      expect(await run.finish(stage.onlooker, { token: "second", position: 0, says })).toMatchObject({
        outcome: "deferred",
      });
      expect(await stage.look("select custom_status from layover.run_state where run_id = $1", [run.id])).toEqual([
        { custom_status: '0"second"' },
      ]);
    });

    const x = aRecord("step", "x");
    const failed = {
      ...at("x"),
      number: 1,
      beganAt: noon,
      endedAt: noon,
      error: "0null",
      demandedAfter: 0,
      retryInMs: 0,
    };

    describe.each([
      ["a step has succeeded", { records: [aRecord("sleep", "nap"), x] }, expect.stringContaining('"interrupted"')],
      ["an attempt of a step has failed", { next: "parked" as const, attempt: failed }, failed.error],
    ])("where %s", (_, told, error) => {
      const defers = async () => {
        const run = await aRunToDefer();
        const answer = await run.finish(stage.onlooker, { token: "second", position: 0, ...told });
        expect(answer).toMatchObject({ outcome: "deferred" });
        expect(Object.keys(await run.pending())).toEqual(["a", "address"]);
        await run.claim(stage.onlooker, { token: "third", turn: 3 });
        return run;
      };
      const attemptedBy = async (run: Run, token: string, position: number, turn: number) => {
        await closesBy(run, { token, position, path: "other" })(stage.onlooker);
        const claimed = await run.claim(stage.onlooker, { token: "closing", turn });
        return Reflect.get(Object(claimed), "attempted");
      };

      test("it is told as begun if the run ends before it is carried out again", async () => {
        expect(await attemptedBy(await defers(), "third", 1, 4)).toEqual([{ ...at("x"), attempts: 1, error }]);
      });

      test("it is told as begun once, if that happens twice", async () => {
        const run = await defers();
        await run.signal(stage.onlooker, "address");
        const again = { token: "third", position: 0, ...told };
        expect(await run.finish(stage.onlooker, again)).toMatchObject({ outcome: "deferred" });
        await run.claim(stage.onlooker, { token: "fourth", turn: 4 });
        expect(await attemptedBy(run, "fourth", 1, 5)).toEqual([{ ...at("x"), attempts: 1, error }]);
      });

      test("it is not once it has a record", async () => {
        const run = await defers();
        await run.finish(stage.onlooker, { token: "third", position: 1, records: [x] });
        await run.claim(stage.onlooker, { token: "fourth", turn: 4 });
        expect(await attemptedBy(run, "fourth", 2, 5)).toEqual([]);
      });
    });

    test("keeps the error of a last attempt whose record it drops", async () => {
      const run = await aRunToDefer();
      const { retryInMs: _, ...attempt } = { ...failed, error: '0{"message": "no"}' };
      const last = { token: "second", position: 0, records: [{ ...x, isFailure: true }], attempt };
      expect(await run.finish(stage.onlooker, last)).toMatchObject({ outcome: "deferred" });
      expect(await stage.look("select error from layover.attempt where run_id = $1 and path = 'x'", [run.id])).toEqual([
        { error: '0{"message": "no"}' },
      ]);
    });

    test("leaves its attempt to the next one of the same number, which has failed in its turn", async () => {
      const run = await aRunToDefer();
      await run.finish(stage.onlooker, { token: "second", position: 0, records: [x] });
      await run.claim(stage.onlooker, { token: "third", turn: 3 });
      const { retryInMs: _, ...attempt } = { ...failed, error: '0{"message": "card declined"}' };
      await run.finish(stage.onlooker, { token: "third", position: 1, records: [{ ...x, isFailure: true }], attempt });
      expect(await stage.look("select error from layover.attempt where run_id = $1 and path = 'x'", [run.id])).toEqual([
        { error: '0{"message": "card declined"}' },
      ]);
    });

    describe("has the scheduler look", () => {
      const late = noon + 60 * minute;

      test("as soon as it was armed for", async () => {
        const run = await aRunToDefer();
        await stage.onlooker.query("update layover.run_state set due_at = $1", [new Date(late)]);
        await finish(run);
        expect(await run.state()).toMatchObject({ dueAt: soon });
      });

      test("no later than before", async () => {
        const run = await aRunToDefer();
        await finish(run, "second", [late]);
        expect(await run.state()).toMatchObject({ dueAt: soon });
      });
    });

    test("settles what it saw, of its own run alone", async () => {
      const [run, other] = [await aRunToDefer(), await aRunToDefer()];
      await finish(run);
      expect(await other.pending()).toMatchObject({ a: { position: 1 } });
      await run.claim(stage.onlooker, { token: "third", turn: 3 });
      await run.finish(stage.onlooker, { token: "third", position: 1, demands: branches(["b", "c"]) });
      for (const path of ["b", "c"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await run.finishBranch(stage.onlooker, "b", { token: "b" });
      await run.claim(stage.onlooker, { token: "fourth", turn: 4 });
      await run.finishBranch(stage.onlooker, "c", { token: "c" });
      const deferred = await run.finish(stage.onlooker, { token: "fourth", position: 2 });
      expect(deferred).toMatchObject({ outcome: "deferred" });
      expect(Object.keys(await run.pending()).toSorted()).toEqual(["address", "c"]);
      expect(await other.pending()).toMatchObject({ a: { position: 1 } });
    });
  },
  { perTest: true },
);
