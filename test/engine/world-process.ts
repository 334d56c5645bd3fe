/** Makes the processes of a world, as its options say: on its database and its platform, and with its chance. */
import type { TestDatabase } from "../postgres/database.ts";
import type { Chance } from "./chance.ts";
import type { Platform } from "./platform.ts";
import { bare, Process } from "./process.ts";
import type { WorldNotes } from "./world-notes.ts";
import { type WorldOptions, wrapped } from "./world-options.ts";

/** What all processes of a world share. */
export interface ProcessStage {
  readonly database: TestDatabase;
  readonly namespace: string;
  readonly platform: Platform;
  readonly chance: Chance;
  readonly notes: WorldNotes;
  /** Answers how many milliseconds have passed since the world began. */
  readonly time: () => number;
}

/** `index`: its place among the processes of the world. From 1 on it may have the code of a deployment beside. */
export function makeProcess(options: WorldOptions, index: number, stage: ProcessStage): Process {
  const { workflows, schedules, deployment, keys } = options.beside?.[index - 1] ?? options;
  const { hasNoAddress, timeOfDay, warmRuns, invocation, environment, leaseMs, keepMs, keepFailedMs } = options;
  const { claimBytes, hasTimeFor, telemetry, together, values } = options;
  const { database, namespace, platform, chance, notes, time } = stage;
  const query = wrapped(database.query, { keys, values });
  return new Process({
    workflows,
    schedules,
    timeOfDay,
    hasNoAddress,
    warmRuns,
    invocation,
    environment,
    deployment,
    leaseMs,
    keepMs,
    keepFailedMs,
    claimBytes,
    hasTimeFor,
    telemetry,
    together,
    namespace,
    query: Object.assign((...call: Parameters<typeof query>) => query(...call), {
      endpoint: options.endpoint ?? query.endpoint,
      transact: query.transact,
      sealing: query.sealing,
    }),
    ports: bare({ dispatch: platform.dispatch, alarm: platform.arm }),
    time,
    random: chance.next,
    newToken: chance.uuid,
    onLog: (entry) => notes.logs.push(entry),
    onEvent: (event) => {
      telemetry?.onEvent(event);
      notes.events.push(event);
    },
    onError: (error, doing) => notes.errors.push({ error, doing }),
  });
}
