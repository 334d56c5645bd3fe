/**
 * What a Worker under test plays on: a database behind a Neon endpoint that may misbehave, and a world for its steps.
 */
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { turnsRequest } from "../../src/http/internal.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { type NeonEndpoint, openNeonEndpoint } from "../postgres/neon-endpoint.ts";
import { AWorker, bundled, type Settings, secrets, type WorkerOptions } from "./a-worker.ts";
import { openWorld, type World } from "./world.ts";

export {} from "./a-worker.ts";

export interface Stage {
  readonly world: World;
  readonly endpoint: NeonEndpoint;
  /** Begins a Worker that serves workers/workflows.ts. */
  begin(options?: Partial<WorkerOptions>, settings?: Settings): Promise<AWorker>;
  /** Starts a run of `chain` that is ready, and tells nobody of it. */
  readyRun(worker: AWorker, steps?: number): Promise<string>;
  /** Has the first step of a ready run carried out, and its caller cut off amid it. Resolves when the step is gone. */
  cutOff(worker: AWorker, runId: string): Promise<void>;
  /** Answers the functions that were called in the database since the last time that a test asked. */
  statements(): readonly string[];
}

/** Call it at the top of a test file; use what it answers within tests. */
export function aStage(database: TestDatabase): Stage {
  let current: { world: World; endpoint: NeonEndpoint; seen: number } | undefined;
  const open = () => {
    if (current === undefined) throw new Error("a stage is open within tests only");
    return current;
  };
  let world: World | undefined;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world?.close());
  beforeEach(async () => {
    const endpoint = await openNeonEndpoint(database.url);
    if (world !== undefined) current = { world, endpoint, seen: 0 };
    return async () => await endpoint.close();
  });
  return {
    get world() {
      return open().world;
    },
    get endpoint() {
      return open().endpoint;
    },
    async begin({ script, env, ...options } = {}, settings = {}) {
      const { url, fetchEndpoint } = open().endpoint;
      return await AWorker.begin({
        script: script ?? (await bundled("test/platform/workers/neon.ts", settings)),
        env: { DATABASE_URL: url, FETCH_ENDPOINT: fetchEndpoint, ...env },
        ...options,
      });
    },
    async readyRun(worker, steps = 1) {
      const runId = await worker.start("chain", { world: open().world.url, steps }, { delay: "1 hour" });
      const ready = "ready_at = layover.now(), due_at = layover.now() + interval '1 minute'";
      await database.pool.query(`update layover.run_state set ${ready} where run_id = $1`, [runId]);
      return runId;
    },
    async cutOff(worker, runId) {
      const step = open().world.hold("link-1");
      const cut = open().world.hold("cut");
      const until = encodeURIComponent(`${open().world.url}/cut`);
      const answered = fetch(`${worker.url}/forward?until=${until}`, requestFor(runId));
      await step.arrived;
      cut.release();
      await answered;
      await step.left; // without an answer
    },
    statements() {
      const { bodies } = open().endpoint;
      const sent = bodies.slice(open().seen).map((body) => /layover\.(\w+)/.exec(JSON.stringify(body))?.[1] ?? "");
      open().seen = bodies.length;
      return sent;
    },
  };
}

/**
 * How long it takes at most until a motion minute has rung, in milliseconds. The minute is up to two minutes ahead,
 * and rings 2 s after that where clocks agree. A test turns the database's clock by hand, so its minutes begin within
 * those of the Worker, and ring up to 62 s after they began.
 */
export const unalignedMs = 182_000;

/** Makes the last request of a chain that a Worker sends to itself. That one dispatches nothing. */
export function requestFor(...runIds: readonly string[]): RequestInit {
  const turns = runIds.map((runId) => ({ runId, turn: 1 }));
  return turnsRequest({ turns, hops: 12, until: Date.now() + 60_000 }, { secrets, namespace: "default" });
}

/** Answers the results of the first steps of `chain`. */
export function linksBy(isolate: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `link-${index + 1}: done by ${isolate}`);
}

export function completed(result: unknown): unknown {
  return expect.objectContaining({ status: "completed", result });
}

/** Has a run end and the cron trigger ring: this deployment is not new any more, and has said what it does without. */
export async function settledIn(worker: AWorker): Promise<void> {
  const runId = await worker.start("still");
  await expect.poll(() => worker.run(runId)).toMatchObject({ status: "completed" });
  expect(await worker.ring()).toBe("ok");
  expect(worker.logged.splice(0)).toEqual([
    expect.stringContaining("no `queue`: the Worker asks itself by requests"),
    expect.stringContaining("no `alarm`: each cron trigger asks the database, which never sleeps"),
    expect.stringContaining("serve's option `queue` finds nothing in env"),
    expect.stringContaining("the webhook shop answers before, which needs the queue"),
  ]);
}

/** Which deployment was the last one to look at everything. */
export async function lastDeployment(database: TestDatabase): Promise<unknown> {
  const { rows } = await database.pool.query(
    "select id from layover.deployment where looked_at is not null order by looked_at desc limit 1",
  );
  return rows[0]?.id ?? null;
}
