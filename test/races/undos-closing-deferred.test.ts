/** A run whose handler has failed while a branch recorded: its finish is deferred, and closes the run all the same. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finishBranch } from "./branching.ts";
import { aChild } from "./invoking.ts";
import { locksByPath } from "./lock-order.ts";
import { aParkedRun, aRecord, aRunAtWork, at, branches, minute, noon, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { callOf, claimsOn } from "./undoing.ts";

describeSomePostgres(
  "a deferred finish of a run whose handler has failed",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const superseded = { outcome: "superseded" };
    const claimed = { outcome: "claimed" };
    const deferred = { outcome: "deferred", turn: 3, isReady: true };
    const endsAs = {
      next: "failed",
      value: '0{"message":"no"}',
      failure: { at: 1, timeouts: [], lost: [], repeats: [] },
    } as const;
    const owed = JSON.stringify({ next: "failed", error: endsAs.value, owed: [at("all/a")] });
    const ways = [
      ["which closes it", { next: "ready", closing: true, endsAs }],
      [
        "which says what it owes",
        { next: "ready", ending: 1, endsAs, records: [aRecord("ending", "", { value: owed })] },
      ],
      ["which ends it", endsAs],
    ] as const;
    const [, closes] = ways[0];
    type Finish = Partial<Parameters<Run["finish"]>[1]>;
    const ends =
      (run: Run, finish: Finish = closes) =>
      (session: Session) =>
        run.finish(session, { token: "turn 2", position: 1, ...finish });

    /** A map with a slot for two items, beside another branch, whose record its second turn has seen. `all/a` is at work. */
    const aRunWith = async (more: Parameters<typeof aParkedRun>[2] = {}) => {
      const map = { path: "all", slots: 2, failsFast: true };
      const items = branches(["all/a", "all/b", "all/c"], map).map((item) => ({ ...item, ordinal: item.ordinal + 1 }));
      const run = await aParkedRun(stage, [...branches(["first"]), ...items], more);
      for (const path of ["first", "all/a"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await finishBranch(run, "first")(stage.onlooker);
      await claim(run, 2);
      return run;
    };
    const claimsOf = (run: Run, ...paths: readonly string[]) =>
      callOf("claim_turns", ...paths.map((path) => ({ ...run.toClaim({ token: path }), ...at(path) })));
    const row = async (run: Run) => {
      const [found] = await stage.look(
        `select is_closing as "isClosing", cancel_requested_at is not null as "isAsked", cancel_reason as reason, ends_as as "endsAs", layover.to_ms(timeout_at)::float8 as "timeoutAt"
           from layover.run_state where run_id = $1`,
        [run.id],
      );
      return found;
    };

    test.each(ways)("%s, closes it: no further item of its map begins", async (_, finish) => {
      const run = await aRunWith({ timeoutMs: 60 * minute });
      const [recorded, told] = await stage.collide({ first: finishBranch(run, "all/a"), second: ends(run, finish) });
      expect(recorded).toMatchObject({ outcome: "finished", branches: [at("all/c")] });
      expect(told).toMatchObject({ ...deferred, branches: null });
      expect(await row(run)).toEqual({ isClosing: true, isAsked: false, reason: null, endsAs, timeoutAt: null });
      expect(await claimsOf(run, "all/b", "all/c")(stage.onlooker)).toEqual([superseded, superseded]);
      expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 2, attempted: [], endsAs });
      expect(await run.pending()).toEqual({});
      expect(await run.kinds()).toEqual(["step first", "step all/a"]);
    });

    test.each(ways)("%s, is answered the same when it comes again", async (_, finish) => {
      const run = await aRunWith();
      await finishBranch(run, "all/a")(stage.onlooker);
      const told = await ends(run, finish)(stage.onlooker);
      expect(told).toMatchObject(deferred);
      expect(await ends(run, finish)(stage.onlooker)).toEqual(told);
      expect(await row(run)).toMatchObject({ isClosing: true, endsAs });
    });

    test("waits for the claim of an item, and the run for its lease: it may have had its effect", async () => {
      const run = await aRunWith();
      await finishBranch(run, "all/a")(stage.onlooker);
      const [begun, told] = await stage.collide({ first: claimsOf(run, "all/b"), second: ends(run) });
      expect([begun, told]).toMatchObject([[claimed], deferred]);
      expect(await claimsOf(run, "all/c")(stage.onlooker)).toEqual([superseded]);
      expect(await claim(run, 3)).toEqual({ outcome: "not_ready", readyAt: noon + minute });
      expect(await finishBranch(run, "all/b")(stage.onlooker)).toMatchObject({ continues: 3, branches: null });
      expect(await claim(run, 3)).toMatchObject({ ...claimed, position: 3, attempted: [], endsAs });
    });

    test.each([
      ["alone", ["all/b"]],
      ["in a set", ["all/b", "all/c"]],
    ] as const)("holds up the claims of items, which begin nothing then, %s", async (_, paths) => {
      const run = await aRunWith();
      await finishBranch(run, "all/a")(stage.onlooker);
      const [told, refused] = await stage.collide({ first: ends(run), second: claimsOf(run, ...paths) });
      expect([told, refused]).toMatchObject([deferred, paths.map(() => superseded)]);
    });

    test("that rolls back lets the items begin", async () => {
      const run = await aRunWith();
      await finishBranch(run, "all/a")(stage.onlooker);
      const [, begun] = await stage.collide({ first: ends(run), second: claimsOf(run, "all/b"), ends: "rollback" });
      expect(begun).toMatchObject([claimed]);
    });

    test("demands nothing, and gives no slot to anybody, though a race has released one", async () => {
      const run = await aRunWith();
      await finishBranch(run, "all/a")(stage.onlooker);
      const released = [{ prefix: "all/b", position: 1 }];
      const told = await ends(run, { ...closes, released, demands: branches(["more"]) })(stage.onlooker);
      expect(told).toMatchObject({ ...deferred, branches: null });
      expect(Object.keys(await run.pending())).not.toContain("more");
    });

    test.each([
      ["ends", endsAs],
      ["goes on", { next: "ready" }],
    ] as const)(
      "keeps that the run closes, and how it was to end first, where its handler %s now",
      async (_, finish) => {
        const run = await aRunWith();
        await stage.look(
          `update layover.run_state set is_closing = true, ends_as = '{"next": "failed", "value": "0{}"}' where run_id = $1`,
          [run.id],
        );
        await finishBranch(run, "all/a")(stage.onlooker);
        await ends(run, finish)(stage.onlooker);
        expect(await row(run)).toMatchObject({ isClosing: true, endsAs: { next: "failed", value: "0{}" } });
      },
    );

    test("of a release that does not say how the run ends closes it without that", async () => {
      const run = await aRunWith();
      await finishBranch(run, "all/a")(stage.onlooker);
      expect(await ends(run, { next: "ready", closing: true })(stage.onlooker)).toMatchObject(deferred);
      expect(await row(run)).toMatchObject({ isClosing: true, endsAs: null });
      expect(await claim(run, 3)).toMatchObject({ ...claimed, attempted: [], endsAs: null });
    });

    test("locks the branches by their paths", async () => {
      const arrange = async (run: Run) => {
        await stage.look("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
        await claim(run, 2);
      };
      const close = (run: Run, session: Session) => run.finish(session, { token: "turn 2", position: -1, ...closes });
      expect(await locksByPath(stage, close, arrange)).toBe(true);
    });

    const attempt = { ...at("x"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
    const ending = aRecord("ending", "", { value: owed });
    const set = (assignments: string) => (run: Run) =>
      stage.look(`update layover.run_state set ${assignments} where run_id = $1`, [run.id]);
    const nothing = async () => {};

    test.each<readonly [what: string, finish: Finish, before: (run: Run) => Promise<unknown>]>([
      ["has come to a step of its own", { ...closes, records: [aRecord("step", "x")] }, nothing],
      ["has taken a signal", { ...endsAs, records: [aRecord("signal", "go")] }, nothing],
      ["has come to more than what it owes", { ...ways[1][1], records: [aRecord("sleep", "nap"), ending] }, nothing],
      ["has failed at a step", { ...closes, attempt }, nothing],
      ["closes a name", { ...closes, closes: ["go"] }, nothing],
      ["has failed to announce a callback", { ...closes, announces: at("approval") }, nothing],
      ["was cancelled meanwhile", closes, (run) => run.operate(stage.onlooker, "cancel")],
      ["had its timeout before", closes, set("timeout_at = last_record_at - interval '1 ms'")],
      [
        "writes down what it owes when its timeout has passed",
        { ...ways[1][1], records: [aRecord("ending", "", { value: owed, at: noon + 2 })] },
        set("timeout_at = last_record_at + interval '1 ms'"),
      ],
      ["has written down what it owes", endsAs, set("ending_position = 1, undos = 1")],
      ["completes", { next: "completed", value: "0null" }, nothing],
      ["goes on", { next: "ready" }, nothing],
    ])("does not close one that %s", async (_, finish, before) => {
      const run = await aRunWith();
      await before(run);
      await finishBranch(run, "all/a")(stage.onlooker);
      expect(await ends(run, finish)(stage.onlooker)).toMatchObject({ outcome: "deferred" });
      expect(await row(run)).toMatchObject({ isClosing: false, endsAs: null });
    });

    test("closes one whose timeout passes at the time of its last record", async () => {
      const run = await aRunWith();
      await set("timeout_at = last_record_at")(run);
      await finishBranch(run, "all/a")(stage.onlooker);
      await ends(run)(stage.onlooker);
      expect(await row(run)).toEqual({ isClosing: true, isAsked: false, reason: null, endsAs, timeoutAt: null });
    });

    test("asks a run that it has invoked to end by the next finish, and undoes nothing before that has ended", async () => {
      const run = await aRunAtWork(stage);
      const child = aChild("it", { isBound: true });
      await run.finish(stage.onlooker, { token: "first", children: [child], demands: branches(["first", "all/a"]) });
      for (const path of ["first", "all/a"]) await run.claimBranch(stage.onlooker, path, { token: path });
      await finishBranch(run, "first")(stage.onlooker);
      await set("ready_at = 'epoch'")(run);
      await claim(run, 2);
      await finishBranch(run, "all/a")(stage.onlooker);
      expect(await ends(run)(stage.onlooker)).toMatchObject(deferred);
      expect(await claim(run, 3)).toMatchObject({ ...claimed, endsAs });
      const told = await run.finish(stage.onlooker, { token: "turn 3", position: 2, ...ways[1][1], armed: [soon] });
      expect(told).toMatchObject({ outcome: "finished", others: [{ runId: child.runId }] });
      expect(await run.kinds()).toEqual(["step first", "step all/a"]);
      expect(await claim(run, 4)).toMatchObject({ outcome: "not_ready" });
      await new Run(stage, child.runId).operate(stage.onlooker, "terminate");
      expect(await claim(run, 4)).toMatchObject({ ...claimed, endsAs });
      const last = { token: "turn 4", position: 2, ...ways[1][1] };
      expect(await run.finish(stage.onlooker, last)).toMatchObject({ outcome: "finished", turn: 5 });
      expect(await run.kinds()).toEqual(["step first", "step all/a", "ending"]);
    });
  },
  { perTest: true },
);
