/** A turn that did not get on and is to be tried again, and who comes at that moment. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aParkedRun,
  aRecord,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  second,
  soon,
  terms,
} from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const why = "it took too long";

describeSomePostgres("a finish that sets its run back", (database) => {
  const stage = stageOn(database);
  const setBack = (run: Run, token: string) => (session: Session) =>
    run.finish(session, { token, next: "parked", setback: why });
  const setbacks = async (run: Run) =>
    await stage.look(
      `select path, turn, tries, layover.to_ms(until)::float8 as until from layover.setback where run_id = $1`,
      [run.id],
    );

  test("may come twice, and counts once", async () => {
    const run = await aRunAtWork(stage);
    const [first, again] = await stage.collide({ first: setBack(run, "first"), second: setBack(run, "first") });
    expect(first).toMatchObject({ outcome: "finished", isReady: false, readyAt: noon + minute });
    expect(again).toEqual(first);
    expect(await setbacks(run)).toEqual([{ path: "", turn: 2, tries: 1, until: noon + minute }]);
    expect(await run.state()).toMatchObject({ status: "parked", readyAt: noon + minute, dueAt: soon, blocked: null });
  });

  test("is undone where it rolls back, and the claim after the lease is the next holder's", async () => {
    const run = await aRunAtWork(stage);
    const session = await stage.session("doomed");
    await session.begin();
    await setBack(run, "first")(session);
    await session.end("rollback");
    expect(await setbacks(run)).toEqual([]);
    expect(await run.state()).toMatchObject({ status: "running", turn: 1 });
  });

  test("and the claim of its next turn: too early, then in its time, and its good finish ends it", async () => {
    const run = await aRunAtWork(stage);
    await setBack(run, "first")(stage.onlooker);
    const early = await run.claim(stage.onlooker, { token: "second", turn: 2 });
    expect(early).toMatchObject({ outcome: "not_ready", readyAt: noon + minute });
    await stage.clock.advance(minute);
    expect(await run.claim(stage.onlooker, { token: "second", turn: 2 })).toMatchObject({ outcome: "claimed" });
    await run.finish(stage.onlooker, { token: "second", demands: [aWaitFor("item")] });
    expect(await run.state()).toMatchObject({ turn: 3, readyAt: null });
    const view: unknown = await stage.onlooker.call("get_run", { runId: run.id, namespace: "default" });
    expect(view).toMatchObject({ status: "waiting", setback: null });
  });

  test("waits for the lock of a signal that comes, which makes it ready afterwards", async () => {
    const run = await aParkedRun(stage, [aWaitFor("item")]);
    await run.signal(stage.onlooker, "item");
    await run.claim(stage.onlooker, { token: "second", turn: 2 });
    const finish = (session: Session) =>
      run.finish(session, { token: "second", next: "parked", setback: why, position: 0 });
    const [, finished] = await stage.collide({ first: (session) => run.signal(session, "item"), second: finish });
    expect(finished).toMatchObject({ outcome: "finished", isReady: false });
    await run.signal(stage.onlooker, "item");
    expect(await run.state()).toMatchObject({ isReady: true, dueAt: soon });
  });

  test.each([
    ["has got nowhere: the step of the lost turn before it may have begun", {}, 2],
    ["has carried that step out: nothing else may have begun", { records: [aRecord("step", "it")] }, 1],
  ])("and a cancel, after a turn that %s", async (_, told, attempts) => {
    const run = await aRunAtWork(stage);
    await stage.clock.advance(minute);
    await run.claim(stage.onlooker, { token: "second", turn: 1 });
    await run.finish(stage.onlooker, { token: "second", next: "parked", setback: why, ...told });
    await run.operate(stage.onlooker, "cancel");
    await run.claim(stage.onlooker, { token: "third", turn: 2 });
    expect(
      await stage.look(`select attempts from layover.record where run_id = $1 and kind = 'closing'`, [run.id]),
    ).toEqual([{ attempts }]);
  });

  const anAttempt = {
    ...at("it"),
    ...{ number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: second, demandedAfter: 0 },
  };
  test.each<readonly [what: string, finish: Partial<Parameters<Run["finish"]>[1]>, isInterrupted: boolean]>([
    ["a turn that was set back", { setback: why }, true],
    ["a turn that nobody's code fits", { next: "blocked", value: "no such step" }, true],
    ["one that was set back and recorded a step", { setback: why, records: [aRecord("step", "it")] }, false],
    ["one that was set back after an attempt that failed", { setback: why, attempt: anAttempt }, false],
    ["one that left its step to another invocation", { next: "ready" }, true],
    ["one that asked for more", { next: "ready", demands: [aWaitFor("go")] }, false],
    ["one that ended its handler, and closes", { next: "ready", closing: true }, false],
    ["one that continued as new", { next: "ready", continues: "0null" }, false],
    ["one that got on", {}, false],
  ])("is interrupted as before by %s, unless that got anywhere", async (_, finish, isInterrupted) => {
    const run = await aRunAtWork(stage);
    await stage.onlooker.query("update layover.run_state set is_interrupted = true where run_id = $1", [run.id]);
    expect(await run.finish(stage.onlooker, { token: "first", ...finish })).toMatchObject({ outcome: "finished" });
    const row = await stage.look("select is_interrupted from layover.run_state where run_id = $1", [run.id]);
    expect(row).toEqual([{ is_interrupted: isInterrupted }]);
  });

  test("has its tries counted anew where its turn recorded something", async () => {
    const run = await aRunAtWork(stage);
    await setBack(run, "first")(stage.onlooker);
    await stage.clock.advance(minute);
    await run.claim(stage.onlooker, { token: "second", turn: 2 });
    await run.finish(stage.onlooker, { token: "second", setback: why, records: [aRecord("step", "it")] });
    expect(await setbacks(run)).toEqual([{ path: "", turn: 3, tries: 1, until: noon + 2 * minute }]);
  });

  test.each([
    [9, 10],
    [10, 20],
    [30, 40],
  ])(
    "has its second try ten minutes after the first setback, or after now where that is over: %i",
    async (at, until) => {
      const run = await aRunAtWork(stage);
      await setBack(run, "first")(stage.onlooker);
      await stage.clock.set(noon + at * minute);
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      await setBack(run, "second")(stage.onlooker);
      expect(await setbacks(run)).toEqual([{ path: "", turn: 3, tries: 2, until: noon + until * minute }]);
    },
  );

  test("forgets the tries of its own turns alone where one recorded something", async () => {
    const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
    await setBack(other, "first")(stage.onlooker);
    const note = "insert into layover.setback select $1, $2, 1, 1, 'no', 1, layover.now(), layover.now()";
    for (const path of ["", "b"]) await stage.onlooker.query(note, [run.id, path]);
    await run.finish(stage.onlooker, { token: "first", setback: why, records: [aRecord("step", "it")] });
    expect((await setbacks(run)).map(({ path, turn }) => [path, turn])).toEqual(
      expect.arrayContaining([
        ["", 2],
        ["b", 1],
      ]),
    );
    expect(await setbacks(other)).toHaveLength(1);
  });

  test("blocks it where that was its last try", async () => {
    const run = await aRunAtWork(stage);
    const note = "insert into layover.setback select $1, '', 1, 1, 'no', 4, layover.now(), layover.now()";
    await stage.onlooker.query(note, [run.id]);
    const answer = await setBack(run, "first")(stage.onlooker);
    expect(answer).toMatchObject({ isBlocked: true, isReady: false, readyAt: null });
    expect(await run.state()).toMatchObject({ blocked: why, dueAt: null, isReady: true });
  });

  test.each([
    ["makes it ready at the instant of its timeout", false],
    ["has nobody look at it while it is paused, not even then", true],
  ])("%s", async (_, isPaused) => {
    const run = await aRunAtWork(stage, { timeoutMs: minute / 2 });
    if (isPaused) await run.operate(stage.onlooker, "pause");
    await stage.clock.set(noon + minute / 2);
    const answer = await setBack(run, "first")(stage.onlooker);
    expect(answer).toMatchObject({ isBlocked: false, isReady: !isPaused, readyAt: noon + minute / 2 });
    expect(await run.state()).toMatchObject({ dueAt: isPaused ? null : soon });
  });
});

describeSomePostgres("a claim that finds a turn worn out", (database) => {
  const stage = stageOn(database);
  const wear = async (run: Run, table: "run_state" | "pending") => {
    await stage.onlooker.query(
      `update layover.${table} set claims = 8, beginnings = 6, lost = 8, leased_until = layover.now()
         where run_id = $1 and token is not null`,
      [run.id],
    );
  };

  describe.each([
    ["of a run", "run_state"],
    ["of a branch", "pending"],
  ] as const)("%s", (_, table) => {
    const aWornRun = async () => {
      if (table === "run_state") {
        const run = await aRunAtWork(stage);
        await wear(run, table);
        return run;
      }
      // Branches of other turns lie ahead of it in the table.
      const run = await aParkedRun(stage, [...branches(["a", "b"]), aDemand("branch", "b", { occurrence: 2 })]);
      await stage.onlooker.query(
        "update layover.pending set turn = 7 where run_id = $1 and (path = 'a' or occurrence = 2)",
        [run.id],
      );
      await run.claimBranch(stage.onlooker, "b", { token: "b" });
      await wear(run, table);
      return run;
    };
    const claim = (run: Run, token: string, turn: number) => (session: Session) =>
      table === "pending"
        ? run.claimBranch(session, "b", { token, turn, alone: true })
        : run.claim(session, { token, turn, alone: true });
    const stateOf = async (run: Run) => (table === "pending" ? (await run.pending())["b"] : await run.state());

    test("sets it back once, and the other one is told of another turn", async () => {
      const run = await aWornRun();
      const [first, second] = await stage.collide({ first: claim(run, "x", 1), second: claim(run, "y", 1) });
      expect(first).toEqual({ outcome: "not_ready", readyAt: null });
      expect(second).toEqual({ outcome: "stale", turn: 2 });
      expect(await stateOf(run)).toMatchObject({ token: null, turn: 2, claims: 0, beginnings: 4, lost: 9 });
      const { dueAt, blocked } = await run.state();
      expect([dueAt, blocked]).toEqual([soon, null]);
    });

    test("gives it one more real beginning at its time, and blocks it after four of them", async () => {
      const run = await aWornRun();
      await claim(run, "x", 1)(stage.onlooker);
      for (const [index, waitMs] of [1, 9, 50, 300].entries()) {
        await stage.clock.advance(waitMs * minute);
        const turn = index + 2;
        expect(await claim(run, `try ${turn}`, turn)(stage.onlooker)).toMatchObject({
          outcome: "claimed",
          beginnings: terms.maxBeginnings - 1,
        });
        await wear(run, table);
        const outcome = index === 3 ? "blocked" : "not_ready";
        expect(await claim(run, `after ${turn}`, turn)(stage.onlooker)).toMatchObject({ outcome });
      }
      expect(await run.state()).toMatchObject({ blocked: expect.stringContaining("never finished it"), dueAt: null });
      expect(await stage.look("select from layover.setback where run_id = $1", [run.id])).toHaveLength(0);
    });

    test("counts the tries of this turn alone, and forgets those of no other one", async () => {
      const other = await aWornRun();
      const run = await aWornRun();
      const path = table === "pending" ? "b" : "";
      const note = async (id: string, of: string, occurrence: number, turn: number, tries: number) =>
        await stage.onlooker.query(
          `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
             values ($1, $2, $3, $4, 'no', $5, layover.now() - interval '2 days', layover.now() - interval '1 day')`,
          [id, of, occurrence, turn, tries],
        );
      const all = async () =>
        await stage.look(
          `select s.run_id = $1 as own, s.path, s.occurrence, s.turn, s.tries, s.reason = 'no' as is_old,
              layover.to_ms(s.since)::float8 as since, layover.to_ms(s.until)::float8 as until
             from layover.setback s where s.run_id = any ($2)`,
          [run.id, [run.id, other.id]],
        );
      await note(run.id, path, 1, 0, 3); // of a turn that was over before this one
      await note(run.id, path, 2, 1, 3);
      await note(run.id, "c", 1, 1, 3);
      await note(other.id, path, 1, 1, 3);
      const others = (await all()).filter(
        (row) => row["occurrence"] !== 1 || row["path"] !== path || row["own"] !== true,
      );
      await claim(run, "x", 1)(stage.onlooker);
      const anew = {
        own: true,
        path,
        occurrence: 1,
        turn: 2,
        tries: 1,
        is_old: false,
        since: noon,
        until: noon + minute,
      };
      expect(await all()).toHaveLength(4);
      expect(await all()).toEqual(expect.arrayContaining([...others, anew]));

      await stage.clock.advance(minute);
      await claim(run, "y", 2)(stage.onlooker);
      await wear(run, table);
      await stage.onlooker.query(
        "update layover.setback s set tries = 4 where s.run_id = $1 and s.path = $2 and s.occurrence = 1",
        [run.id, path],
      );
      expect(await claim(run, "z", 2)(stage.onlooker)).toMatchObject({ outcome: "blocked" });
      expect(await stateOf(run)).toMatchObject({ claims: 0, beginnings: 0, lost: 0 });
      expect(await all()).toHaveLength(3);
      expect(await all()).toEqual(expect.arrayContaining(others));
    });
  });
});
