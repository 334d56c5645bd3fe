/** A move of a run to another version looks only at that run, and writes only that run. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aParkedRun, aRun, at, aWaitFor, branches, minute, noon, type Run, second, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the move of a run to another version",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "a run that is over has neither leases, nor pending rows, nor a due instant",
        "a parked run is ready from its cancel, its timeout or the end of its cleanups' hour on",
      ],
    });
    const move = (run: Run, more: object = {}) =>
      stage.onlooker.call("upgrade_run", {
        ...{ runId: run.id, from: 1, to: 2, epoch: 0, turn: 2, position: 0, lastMail: 0, callId: randomUUID() },
        ...{ armed: [soon], ...more },
      });
    const two = async () =>
      [await aParkedRun(stage, branches(["a", "b"])), await aParkedRun(stage, branches(["a"]))] as const;
    const { wait, set, setWaits } = rowsOn(stage);
    const leased = "token = gen_random_uuid(), leased_until = layover.now() + interval '1 s'";
    const all = async ({ id }: Run) => ({
      run: await stage.look("select * from layover.run where id = $1", [id]),
      state: await stage.look("select * from layover.run_state where run_id = $1", [id]),
      rows: await stage.look("select * from layover.pending where run_id = $1 order by path", [id]),
    });

    test("changes no other run, waits for none, and forgets what was counted of the old code", async () => {
      const [run, other] = await two();
      const worn =
        "claims = 2, beginnings = 2, lost = 2, spared = 1, dispatches = 3, lost_token = gen_random_uuid(), refused_by = '{}'";
      for (const one of [run, other]) await set(one, worn);
      await setWaits(other, leased);
      const before = await all(other);
      for (const table of ["run_state", "pending"])
        await stage.hold(`select from layover.${table} where run_id = $1 for update`, [other.id]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      expect(await move(run, { signature: "new" })).toMatchObject({ outcome: "upgraded", version: 2 });
      const [now] = await stage.look(
        `select version, signature, turn, claims, beginnings, lost, spared, dispatches, lost_token, refused_by, blocked
           from layover.run_state t join layover.run r on r.id = t.run_id where r.id = $1`,
        [run.id],
      );
      expect(now).toEqual({
        ...{ version: 2, signature: "new", turn: 3, claims: 0, beginnings: 0, lost: 0, spared: 0, dispatches: 0 },
        ...{ lost_token: null, refused_by: null, blocked: null },
      });
      expect(await all(other)).toEqual(before);
    });

    test("tells which of its branches may be claimed, in their order: those that are ready", async () => {
      const [run] = await two();
      await setWaits(run, "ready_at = case path when 'a' then layover.now() else layover.now() + interval '1 s' end");
      expect(await move(run)).toMatchObject({ turn: null, branches: [at("a")] });
      await setWaits(run, "ready_at = 'epoch', ordinal = -ordinal");
      expect(await move(run, { from: 2, to: 3, turn: 3 })).toMatchObject({ branches: [at("b"), at("a")] });
    });

    describe("while somebody is at work", () => {
      test("on a branch of it is refused, until the last lease", async () => {
        const [run] = await two();
        await stage.onlooker.query(
          `update layover.pending set token = gen_random_uuid(), leased_until = layover.now() + interval '1 s' * (case path when 'a' then 5 else 3 end)
            where run_id = $1`,
          [run.id],
        );
        expect(await move(run)).toEqual({ outcome: "at_work", runId: run.id, until: noon + 5 * second });
      });

      test("on the run is refused", async () => {
        const run = await aRun(stage);
        await run.claim(stage.onlooker, { token: "first" });
        expect(await move(run, { turn: 1 })).toEqual({ outcome: "at_work", runId: run.id, until: noon + minute });
      });
    });

    test.each([
      ["it is asked to end", "cancel_requested_at = layover.now()"],
      ["its cancel is in its history", "cancelled_position = 0"],
      ["it closes", "is_closing = true"],
      ["its end is in its history", "ending_position = 0"],
      [
        "it is over",
        "status = 'completed', result = '0null', ready_at = null, due_at = null, ended_at = layover.now()",
      ],
    ])("is refused where %s", async (_, state) => {
      const [run, other] = await two();
      await set(run, state);
      expect(await move(run)).toMatchObject({ outcome: "not_applicable" });
      expect(await move(other)).toMatchObject({ outcome: "upgraded" });
    });

    describe("of a run that is", () => {
      const waits = "ready_at = layover.now() + interval '1 h', due_at = layover.now() + interval '1 h'";
      const setback = ({ id }: Run, path: string, turn: number) =>
        stage.onlooker.query(
          `insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
             select $1, $2, 1, $3, 'no', 1, layover.now(), layover.now()`,
          [id, path, turn],
        );
      const readyAt = async (run: Run) =>
        (
          await stage.look("select layover.to_ms(ready_at)::float8 as at from layover.run_state where run_id = $1", [
            run.id,
          ])
        )[0];

      test("blocked has it ready, and looked at within a minute", async () => {
        const [run] = await two();
        await set(run, "blocked = 'no', due_at = null, ready_at = layover.now() + interval '1 h'");
        expect(await move(run, { armed: [noon + second, soon, noon + 60 * minute] })).toMatchObject({ turn: 3 });
        expect(await readyAt(run)).toEqual({ at: 0 });
        expect(await run.state()).toMatchObject({ dueAt: soon });
      });

      test("set back has it ready", async () => {
        const [run] = await two();
        await set(run, waits);
        await setback(run, "", 2);
        expect(await move(run)).toMatchObject({ turn: 3 });
        expect(await readyAt(run)).toEqual({ at: 0 });
      });

      test.each<readonly [what: string, make: (run: Run, other: Run) => Promise<unknown>]>([
        ["not set back", async () => {}],
        ["not set back, as another run is", (_, other) => setback(other, "", 2)],
        ["not set back, as a branch of it is", (run) => setback(run, "a", 2)],
        ["not set back, as it was in an earlier turn", (run) => setback(run, "", 1)],
      ])("%s leaves when that is ready", async (_, make) => {
        const [run, other] = await two();
        await set(run, waits);
        await make(run, other);
        expect(await move(run)).toMatchObject({ turn: null });
        expect(await readyAt(run)).toEqual({ at: noon + 60 * minute });
      });

      test("looked at by nobody leaves it so", async () => {
        const [run] = await two();
        await set(run, "due_at = null");
        await move(run);
        expect(await run.state()).toMatchObject({ dueAt: null });
      });

      test("looked at is looked at at once where nothing is armed", async () => {
        const [run] = await two();
        await move(run, { armed: undefined });
        expect(await run.state()).toMatchObject({ dueAt: noon });
      });
    });

    test.each([
      ["is refused where no deployment that is there carries that version", { flow: [1] }, "default", "not_carried"],
      ["is refused where another workflow is carried in that version", { other: [2] }, "default", "not_carried"],
      ["is done where one carries that", { flow: [2] }, "default", "upgraded"],
      ["is done where none is there but in another namespace", { flow: [1] }, "other", "upgraded"],
    ])("%s", async (_, versions, namespace, outcome) => {
      const [run] = await two();
      await noteOn(stage)("one", "1", { versions, namespace });
      expect(await move(run)).toMatchObject({ outcome });
    });

    test("says what it needs", async () => {
      const [run] = await two();
      await expect(move(run, { lastMail: undefined })).rejects.toMatchObject({ code: "LO003" });
    });

    test("of a run that nobody knows says so", async () => {
      await two();
      expect(
        await stage.onlooker.call("upgrade_run", {
          runId: randomUUID(),
          from: 1,
          to: 2,
          epoch: 0,
          turn: 2,
          position: 0,
          lastMail: 0,
        }),
      ).toEqual({
        outcome: "unknown",
      });
    });

    describe("before its first turn", () => {
      const keep = (id: string) =>
        stage.onlooker.query(
          `insert into layover.kept_signal (namespace, workflow, user_id, id, webhook, delivery, name, payload, kept_at, due_at, expires_at)
             values ('default', 'flow', $1, gen_random_uuid(), 'shop', 'one', 'go', '0null', layover.now(), layover.now(), layover.now() + interval '1 h')`,
          [id],
        );

      test("gives it the signals that were kept for it", async () => {
        const run = await aRun(stage, { id: "o1" });
        await keep("o1");
        await move(run, { turn: 1 });
        expect(await stage.look("select name from layover.signal where run_id = $1", [run.id])).toEqual([
          { name: "go" },
        ]);
        expect(await stage.look("select from layover.kept_signal")).toEqual([]);
      });
    });

    test("is refused until the last of its leases is over", async () => {
      const [run] = await two();
      const lease = (seconds: number) =>
        `token = gen_random_uuid(), leased_until = layover.now() + interval '${seconds} s'`;
      await set(run, `status = 'running', ${lease(1)}`);
      await setWaits(run, lease(2));
      expect(await move(run)).toEqual({ outcome: "at_work", runId: run.id, until: noon + 2 * second });
    });

    test("leaves to the next tick what is kept for a run that may wait for it", async () => {
      const run = await aParkedRun(stage, [aWaitFor("go")], { id: "o1" });
      await stage.onlooker.query(
        `insert into layover.kept_signal (namespace, workflow, user_id, id, webhook, delivery, name, payload, kept_at, due_at, expires_at)
           values ('default', 'flow', 'o1', gen_random_uuid(), 'shop', 'd1', 'go', '0true', layover.now(), layover.now(), layover.now() + interval '1 h')`,
      );
      expect(await move(run)).toMatchObject({ outcome: "upgraded" });
      expect(await stage.look("select from layover.kept_signal")).toHaveLength(1);
      expect(await run.state()).toMatchObject({ isReady: false });
    });

    test("tells of the run that is ready at that instant, and of the first hundred branches, in order", async () => {
      const paths = Array.from({ length: 101 }, (_, number) => `${200 - number}`);
      const run = await aParkedRun(stage, branches(paths));
      await set(run, "ready_at = layover.now()");
      const told = await move(run);
      expect(told).toMatchObject({ outcome: "upgraded", turn: 3 });
      const first = "branches" in told ? told.branches?.map(({ path }) => path) : [];
      expect(first).toEqual(paths.slice(0, 100));
    });

    test("frees a run that is blocked and paused, and has nobody look at it", async () => {
      const [run] = await two();
      await set(run, "blocked = 'why', paused_at = layover.now(), due_at = null");
      expect(await move(run)).toEqual({ outcome: "upgraded", runId: run.id, version: 2 });
      expect(await run.state()).toMatchObject({ blocked: null, dueAt: null, isReady: true });
    });

    describe("knows of the mail of a run", () => {
      const read = (runId: string, more: object = {}) => stage.onlooker.call("read_mail", { runId, ...more });

      test("that it is there at all", async () => {
        expect(await read(randomUUID())).toEqual({ outcome: "unknown" });
      });

      test("as many signals as do not fill the budget, and one more", async () => {
        const run = await aRun(stage);
        for (let count = 0; count < 3; count += 1) await run.signal(stage.onlooker, "go", { payload: '0"here"' });
        const fitting = async (budgetBytes: number) => {
          const page = await read(run.id, { budgetBytes });
          return page.outcome === "read" && page.signals.length;
        };
        expect([await fitting(7), await fitting(8), await fitting(14), await fitting(15)]).toEqual([1, 2, 2, 3]);
      });

      test.each<
        readonly [what: string, waits: "parent" | "other", awaited: "run" | "other", more: Columns, is: boolean]
      >([
        ["its parent waits for its end", "parent", "run", {}, true],
        ["its parent waits for its end no more", "parent", "run", { is_released: "true" }, false],
        ["its parent waits for another run", "parent", "other", {}, false],
        ["another run waits for its end", "other", "run", {}, false],
      ])("that %s", async (_, waits, awaited, more, isAwaited) => {
        const runs = { run: await aRun(stage), parent: await aRun(stage), other: await aRun(stage) };
        const parentOf =
          "update layover.run set parent_run_id = $2, parent_path = 'it', parent_occurrence = 1 where id = $1";
        await stage.onlooker.query(parentOf, [runs.run.id, runs.parent.id]);
        await wait(runs[waits], "child", { child_run_id: `'${runs[awaited].id}'`, ...more });
        expect(await read(runs.run.id)).toMatchObject({ outcome: "read", isAwaited });
      });
    });
  },
  { perTest: true },
);
