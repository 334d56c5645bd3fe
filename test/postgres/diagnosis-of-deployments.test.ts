/** The diagnosis names runs that deployments have refused, the deployments that are alive, and workflows that are paused. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { aRun, minute, noon, second, soon, terms } from "../races/runs.ts";
import { describeEachPostgres } from "./database.ts";
import { diagnosing } from "./diagnosing.ts";

describeEachPostgres(
  "the diagnosis of deployments",
  (database) => {
    const { stage, diagnose, set } = diagnosing(database);
    const refusedFor = (ms: number, ...deployments: readonly string[]) => {
      const refusals = deployments.map((name) => [name, { at: noon - ms, why: `${name} knows no such step` }]);
      return `refused_by = '${JSON.stringify(Object.fromEntries(refusals))}'`;
    };
    const tooLong = minute + 1;

    describe("names a run as refused", () => {
      test.each([
        ["that is ready, and was refused more than a minute ago", refusedFor(tooLong, "blue"), ["refused"]],
        ["that is ready from now on", `${refusedFor(tooLong, "blue")}, ready_at = layover.now()`, ["refused"]],
        ["but not within that minute", refusedFor(minute, "blue"), []],
        [
          "but not before it is ready",
          `${refusedFor(tooLong, "blue")}, ready_at = layover.now() + interval '1 ms'`,
          [],
        ],
        [
          "but not while it is at work",
          `${refusedFor(tooLong, "blue")}, status = 'running', token = gen_random_uuid(), leased_until = layover.now() + interval '1 minute'`,
          [],
        ],
      ])("%s", async (_, assignments, kept) => {
        await set(await aRun(stage), assignments);
        expect((await diagnose()).troubles.map(({ keptBy }) => keptBy)).toEqual(kept);
      });

      test("by all deployments that refused it, with the reason of one of them", async () => {
        await set(await aRun(stage), refusedFor(tooLong, "green", "blue"));
        const refused = { keptBy: "refused", refusedBy: "blue, green", reason: "blue knows no such step" };
        expect((await diagnose()).troubles).toMatchObject([refused]);
      });

      test("only if nothing worse keeps it", async () => {
        await set(await aRun(stage), `${refusedFor(tooLong, "blue")}, lost = 2`);
        const crashes = { keptBy: "crashes", refusedBy: null, reason: null };
        expect((await diagnose()).troubles).toMatchObject([crashes]);
      });
    });

    test("names a run as blocked by all deployments that refused it", async () => {
      await set(await aRun(stage), `${refusedFor(tooLong, "green", "blue")}, blocked = 'no such step', due_at = null`);
      expect((await diagnose()).troubles).toMatchObject([{ keptBy: "blocked", refusedBy: "blue, green" }]);
    });

    test("knows those of its own namespace, the two of a name that came last", async () => {
      const note = async (deployment: string, namespace = "default") => {
        await stage.clock.advance(second);
        await stage.onlooker.call("note_deployment", {
          ...{ ...terms, namespace, deploymentName: "node", deployment, note: "deployed", versions: {} },
        });
      };
      for (const build of ["one", "two", "three"]) await note(build);
      await note("two", "shop");
      await note("one", "shop");
      expect((await diagnose()).deployments.map(({ id }) => id)).toEqual(["three", "two"]);
      expect((await diagnose("shop")).deployments.map(({ id }) => id)).toEqual(["one", "two"]);
    });

    test("knows which workflows of its own namespace are paused, the one first that was paused first", async () => {
      const call = (verb: "pause" | "resume", workflow: string, namespace = "default") =>
        stage.onlooker.call(`${verb}_workflow`, {
          namespace,
          workflow,
          callId: randomUUID(),
          by: "ada",
          armed: [soon],
        });
      await call("pause", "mail");
      await call("pause", "bill");
      await call("pause", "of another", "shop");
      await stage.clock.advance(second);
      for (const workflow of ["resumed", "address"]) await call("pause", workflow);
      await call("resume", "resumed");
      const paused = ((await diagnose()).pausedWorkflows ?? []).map(({ workflow }) => workflow);
      expect(paused).toEqual(["bill", "mail", "address"]);
    });

    test("names a hundred paused workflows, those that were paused first", async () => {
      await stage.look(`insert into layover.workflow_pause (namespace, workflow, call_id, paused_at)
        select 'default', 'mail ' || n, gen_random_uuid(), layover.now() - n * interval '1 second' from generate_series(1, 101) as n`);
      const paused = (await diagnose()).pausedWorkflows ?? [];
      expect([paused.length, paused[0]?.workflow, paused.at(-1)?.workflow]).toEqual([100, "mail 101", "mail 2"]);
    });

    describe("where there are more than a thousand runs", () => {
      /** The oldest is half undone, the next one is of another contract; the newest two are of a rare workflow, and the last one is over. */
      const manyRuns = async () => {
        await stage.onlooker.call("note_deployment", {
          ...{
            ...terms,
            endpoint: database.query.endpoint,
            deploymentName: "node",
            deployment: "b1",
            note: "deployed",
          },
          ...{ versions: {}, signatures: { "mail 1": { 1: "new" } } },
        });
        await stage.look(`with run as (
            insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at, signature)
              select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, case when n = 1003 then 'shop' else 'default' end,
                  case when n in (1, 1003) then 'mail 1' when n in (1001, 1002) then 'rare' else 'mail ' || n % 100 end,
                  1, '0{}', true, layover.now(), case when n in (1, 1003) then 'old' end
                from generate_series(0, 1003) as n
              returning id, namespace)
          insert into layover.run_state (run_id, namespace, status, last_record_at, ready_at, due_at)
            select id, namespace, 'parked', layover.now(), 'epoch', layover.now() from run`);
        const end = (number: number, more: string) =>
          stage.look(
            `update layover.run_state set ready_at = null, due_at = null, ended_at = layover.now(), ${more}
              where run_id = ('00000000-0000-7000-8000-' || lpad($1::text, 12, '0'))::uuid`,
            [number],
          );
        await end(0, "status = 'failed', error = '0{}', failed_undos = 1");
        await end(1002, "status = 'completed', result = '0null'");
      };

      test("looks at the thousand newest that are not over, and names the hundred workflows that have most", async () => {
        await manyRuns();
        const { waiting = [], otherContracts, halfUndone } = await diagnose();
        expect([otherContracts, halfUndone]).toMatchObject([[], [{ runs: 1 }]]);
        expect(waiting.map(({ workflow }) => workflow.split(" ")[0])).toEqual(
          Array.from({ length: 100 }, () => "mail"),
        );
        expect(waiting.reduce((sum, { runs }) => sum + runs, 0)).toBe(999);
        expect((await diagnose("shop")).waiting).toMatchObject([{ workflow: "mail 1", runs: 1 }]);
      });
    });
  },
  { perTest: true },
);
