/**
 * What the doctor is told of runs that do not get on: what keeps them, and how those that are kept alike are put
 * together.
 */
import { describe, expect, test } from "vitest";
import { aFanOut, aMap, aRun, aRunAtWork, minute, noon, type Run, second } from "../races/runs.ts";
import { describeEachPostgres } from "./database.ts";
import { diagnosing } from "./diagnosing.ts";

describeEachPostgres(
  "the diagnosis",
  (database) => {
    const { stage, diagnose, set, aRunOf } = diagnosing(database);
    const setBranch = (run: Run, path: string, assignments: string) =>
      stage.onlooker.query(`update layover.pending set ${assignments} where run_id = $1 and path = $2`, [run.id, path]);
    const dueAt = (run: Run, at: number) =>
      stage.onlooker.query("update layover.run_state set due_at = layover.from_ms($2) where run_id = $1", [run.id, at]);
    const troubles = async () => (await diagnose()).troubles;
    const kept = async () => (await troubles()).map(({ keptBy }) => keptBy);
    const fill = (count: number, columns: string, values: string) =>
      stage.look(`with run as (
          insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
            select layover.new_id(), 'default', 'many', 1, '0{}', true, layover.now() from generate_series(1, ${count})
            returning id)
        insert into layover.run_state (run_id, namespace, status, last_record_at, ${columns})
          select id, 'default', 'parked', layover.now(), ${values} from run`);

    describe("of runs that get on", () => {
      test.each([
        ["ready", aRun],
        ["at work", aRunAtWork],
        ["at work with branches", () => aFanOut(stage, ["a", "b"])],
      ])("finds nothing: %s", async (_, make) => {
        await make(stage);
        expect(await troubles()).toEqual([]);
      });

      test.each([
        ["was claimed once", "lost = 1"],
        ["was dispatched twice", "dispatches = 2"],
        ["has been due for three minutes", "due_at = layover.now() - interval '3 minutes'"],
        ["is due much later, whatever it was like", "dispatches = 9, due_at = layover.now() + interval '7 hours'"],
      ])("finds nothing about one that %s", async (_, assignments) => {
        await set(await aRun(stage), assignments);
        expect(await troubles()).toEqual([]);
      });
    });

    describe("names what keeps a run", () => {
      test.each([
        ["crashes", "lost = 2"],
        ["refused", `refused_by = '{"b1": {"at": 1, "why": "no"}}', ready_at = layover.now() - interval '61 seconds'`],
        ["crashes", "lost = 2, dispatches = 9, due_at = layover.now() - interval '1 hour'"],
        ["unclaimed", "dispatches = 3"],
        ["unclaimed", "dispatches = 3, due_at = layover.now() + interval '6 hours'"],
        ["unclaimed", "dispatches = 3, due_at = layover.now() - interval '1 hour'"],
        ["overdue", "due_at = layover.now() - interval '3 minutes 1 millisecond'"],
        ["blocked", "blocked = 'by other code', due_at = null"],
      ])("%s: %s", async (keptBy, assignments) => {
        await set(await aRun(stage), assignments);
        expect(await kept()).toEqual([keptBy]);
      });

      test("setback, since when and why, of a run and of a branch that are tried again", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", setback: "it took too long" });
        const since = noon;
        expect(await troubles()).toMatchObject([
          { keptBy: "setback", reason: "it took too long", since, runs: 1, example: run.id },
        ]);
        const other = await aFanOut(stage, ["a", "b"]);
        await other.finishBranch(stage.onlooker, "a", { token: "a", setback: "so did this" });
        expect(await troubles()).toMatchObject([{}, { keptBy: "setback", reason: "so did this", example: other.id }]);
      });

      test("only a setback of a run that is tried again since its invocations died", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", setback: "its invocations died" });
        await set(run, "lost = 5");
        expect(await troubles()).toMatchObject([
          { keptBy: "setback", reason: "its invocations died", example: run.id },
        ]);
      });

      test("but not a setback after which the run has got on", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", setback: "it took too long" });
        await stage.clock.advance(minute);
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await run.finish(stage.onlooker, { token: "second", next: "ready", armed: [noon + 2 * minute] });
        expect(await troubles()).toEqual([]);
      });

      test.each([
        ["crashes", "lost = 2"],
        ["unclaimed", "dispatches = 3"],
      ])("%s, of the worst of its branches: %s", async (keptBy, assignments) => {
        const run = await aFanOut(stage, ["a", "b", "c"]);
        await aFanOut(stage, ["a", "b", "c"]);
        await setBranch(run, "b", assignments);
        expect(await troubles()).toMatchObject([{ keptBy, runs: 1, example: run.id }]);
      });

      test("but not what kept a branch that is recorded", async () => {
        const run = await aMap(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await setBranch(run, "a", "lost = 9, dispatches = 9");
        expect(await troubles()).toEqual([]);
      });

      test("by its own figures, whatever those of its branches", async () => {
        const run = await aFanOut(stage, ["a"]);
        await set(run, "lost = 4, dispatches = 7");
        await setBranch(run, "a", "lost = 3, dispatches = 8");
        expect(await troubles()).toMatchObject([{ keptBy: "crashes", claims: 4, dispatches: 8 }]);
      });

      test("in its own namespace", async () => {
        await set(await aRun(stage), "namespace = 'elsewhere', blocked = 'by other code', due_at = null");
        await set(await aRun(stage), "namespace = 'elsewhere', lost = 9");
        expect(await troubles()).toEqual([]);
      });
    });

    test("puts together what is kept alike, with the worst of it, and an example that has waited longest", async () => {
      const [one, two, three] = [await aRunOf("mail"), await aRunOf("mail"), await aRunOf("mail")];
      await set(one, "dispatches = 5");
      await set(two, "dispatches = 9");
      await set(three, "dispatches = 3");
      await dueAt(one, noon + 3 * second);
      await dueAt(two, noon + 2 * second);
      await dueAt(three, noon + 4 * second);
      expect(await troubles()).toEqual([
        {
          keptBy: "unclaimed",
          workflow: "mail",
          version: 1,
          reason: null,
          refusedBy: null,
          runs: 3,
          since: noon + 2 * second,
          dispatches: 9,
          claims: 0,
          example: two.id,
        },
      ]);
      for (const run of [one, two]) await set(run, "dispatches = 0");
      await set(one, "lost = 2");
      await set(three, "lost = 6, dispatches = 0");
      expect(await troubles()).toMatchObject([{ keptBy: "crashes", runs: 2, claims: 6, example: one.id }]);
    });

    test("tells apart versions, workflows and reasons, the most of them first", async () => {
      const block = async (workflow: string, version: number, reason: string) =>
        await set(await aRunOf(workflow, version), `blocked = '${reason}', due_at = null`);
      await block("mail", 2, "one");
      await block("mail", 1, "one");
      await block("film", 1, "one");
      await block("film", 1, "other");
      await block("film", 1, "other");
      await set(await aRunOf("order"), "lost = 2");
      const seen = (await troubles()).map(({ keptBy, workflow, version, reason, runs }) =>
        [keptBy, workflow, version, reason, runs].join(" "),
      );
      expect(seen).toEqual([
        "blocked film 1 other 2",
        "blocked film 1 one 1",
        "blocked mail 1 one 1",
        "blocked mail 2 one 1",
        "crashes order 1  1",
      ]);
    });

    test("looks at the first 10,000 by when they are due, and at 1,000 that are blocked", async () => {
      await fill(9_999, "due_at", "layover.now()");
      const first = await aRunOf("first");
      await set(first, "lost = 2, due_at = layover.now() - interval '1 second'");
      const last = await aRunOf("last");
      expect(await diagnose()).toMatchObject({ isCut: true, troubles: [{ workflow: "first" }] });
      await set(last, "lost = 2, due_at = layover.now() + interval '1 second'");
      expect(await troubles()).toMatchObject([{ workflow: "first" }]);
      await set(first, "lost = 0");
      expect(await troubles()).toEqual([]);
      await fill(1_001, "blocked", "'by other code'");
      const [oldest] = await stage.look(
        "select min(run_id::text) as id from layover.run_state where blocked is not null",
      );
      expect(await troubles()).toMatchObject([
        { keptBy: "blocked", workflow: "many", runs: 1_000, example: oldest?.["id"] },
      ]);
    });

    test("reads each of 2,000 runs a few times, though it was planned when there was one", async () => {
      const session = await stage.session("the doctor");
      const ask = () => session.query(`select layover.diagnose('{"namespace": "default"}') as diagnosis`);
      await aRun(stage);
      await stage.onlooker.query("analyze layover.run, layover.run_state");
      for (let calls = 0; calls < 6; calls++) await ask(); // PostgreSQL keeps the plan of the sixth call
      await fill(2_000, "due_at, dispatches", "layover.now(), 3");

      await session.begin();
      const [told] = await ask();
      const [read] = await session.query(`select sum(seq_tup_read + idx_tup_fetch)::integer as rows
        from pg_stat_xact_user_tables where schemaname = 'layover' and relname in ('run', 'run_state')`);
      await session.commit();
      expect(told?.["diagnosis"]).toMatchObject({ troubles: [{ keptBy: "unclaimed", runs: 2_000 }] });
      expect(read?.["rows"]).toBeLessThan(10 * 2_000);
    });
  },
  { perTest: true },
);
