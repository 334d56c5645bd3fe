/** The first tick of a deployment, where there is more than one page, or more than it may dispatch. */
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Alarm, Dispatch } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { Deployment } from "../../src/engine/options.ts";
import { Registry } from "../../src/engine/registry.ts";
import { type Calls, makeCalls } from "../../src/postgres/calls.ts";
import { testDatabase } from "../postgres/database.ts";

const idle = workflow({ name: "idle", version: 1 }).handler(async () => {});
const three = workflow({ name: "three", version: 1 }).handler(async ({ step }) => {
  await Promise.all(["now", "soon", "later"].map((name) => step.run(name, () => name)));
});

describe("a deployment's first tick", () => {
  const database = testDatabase({ perTest: true });

  /** An engine whose dispatches are written down, and reach nobody. */
  function anEngine(deployment?: Deployment) {
    const armed: number[] = [];
    const alarm: Alarm = async (instants) => void armed.push(...instants.map(({ inMs }) => inMs));
    const calls = makeCalls({ query: database.query, namespace: "default", alarm, isBeat: true });
    const dispatched: string[] = [];
    const branches: { readonly path: string | undefined; readonly delayMs: number | undefined }[] = [];
    const dispatch: Dispatch = async (turns, delayMs) => {
      dispatched.push(...turns.map(({ runId }) => runId));
      branches.push(...turns.map(({ branch }) => ({ path: branch?.path, delayMs })));
    };
    return {
      calls,
      armed,
      dispatched,
      branches,
      engine: new Engine({ calls, dispatch, registry: new Registry([idle, three]), deployment }),
    };
  }

  /** Ready runs, in order of their ids. */
  async function startRuns(calls: Calls, count: number): Promise<readonly string[]> {
    await calls.adoptEnvironment("default");
    const runIds = Array.from({ length: count }, () => v7()).toSorted();
    await database.query(
      `select count(layover.start_run(jsonb_build_object('runId', r.id, 'workflow', 'idle', 'version', 1)))
        from unnest($1::uuid[]) as r (id)`,
      [`{${runIds.join()}}`],
    );
    return runIds;
  }

  test("serves what is due before what is blocked, and goes on behind the last one that it had room for", async () => {
    const { calls, dispatched, engine } = anEngine({ name: "here", id: "new" });
    const [due = "", ...blocked] = await startRuns(calls, 4);
    await database.query("update layover.run_state set blocked = 'other code', due_at = null where run_id <> $1", [
      due,
    ]);
    const terms = { most: { turns: 2, groups: 1 } };

    const first = await engine.tick(terms);
    expect(dispatched).toEqual([due, blocked[0]]);
    expect(first).toMatchObject({ hasSeenAll: false, triedThrough: blocked[0] });
    await calls.noteDeployment({
      environment: "default",
      deploymentName: "here",
      deployment: "new",
      note: "looked",
      triedThrough: first.triedThrough,
    });
    await database.query("update layover.run_state set ready_at = null, due_at = null where run_id = $1", [due]);

    const second = await engine.tick(terms);
    expect(dispatched.slice(2)).toEqual([blocked[1], blocked[2]]);
    expect(second).toMatchObject({ hasSeenAll: true, triedThrough: undefined });
  });

  test.each([{ isExclusive: true }, { isExclusive: false }])(
    "looks at each run once, though what it has moved comes again: %o",
    async ({ isExclusive }) => {
      const { calls, dispatched, engine } = anEngine();
      const runIds = await startRuns(calls, 600);
      expect(await engine.tick({ isFirst: true, isExclusive })).toMatchObject({ hasSeenAll: true, dispatched: 600 });
      expect(dispatched.toSorted()).toEqual(runIds);
    },
  );

  test("takes over every short wait of a process that is dead, though another branch of the same run is ready", async () => {
    const { calls, branches, engine } = anEngine();
    await calls.adoptEnvironment("default");
    const runId = v7();
    await calls.startRun({ runId, workflow: "three", version: 1, encodedInput: "0{}" });
    await engine.carryOut([{ runId, turn: 1 }]);
    await database.query(
      `update layover.pending set ready_at = layover.now() + interval '20 s' * (ordinal - (select min(ordinal) from layover.pending))`,
      [],
    );
    branches.length = 0;
    await engine.tick({ isFirst: true, isExclusive: true, looksAhead: true });
    expect(branches.map(({ path, delayMs = 0 }) => ({ path, seconds: Math.round(delayMs / 1_000) }))).toEqual([
      { path: "now", seconds: 0 },
      { path: "soon", seconds: 20 },
      { path: "later", seconds: 40 },
    ]);
  });

  test("moves nothing of a database that belongs to another environment, and looks again in some hours", async () => {
    const { calls, armed, dispatched, engine } = anEngine();
    await startRuns(calls, 2);
    await calls.adoptEnvironment("production");
    const before = await database.query("select due_at, dispatches from layover.run_state");
    armed.length = 0;
    expect(await engine.tick({ isFirst: true })).toMatchObject({ isOurs: false, due: 0 });
    expect(armed.map((ms) => Math.round(ms / 3_600_000))).toEqual([6]);
    expect(dispatched).toEqual([]);
    expect(await database.query("select due_at, dispatches from layover.run_state")).toEqual(before);
  });
});
