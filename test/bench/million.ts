/**
 * `npm run bench:million`: how long each SQL function takes among a million runs of which Postgres knows no statistics, as after a restore: nothing
 * is analyzed, and autovacuum is off. A plan that reads a whole table shows here. Takes some two minutes a version.
 *
 *   --check        exit with 1 where a median is over its budget
 *   --postgres V   15 or 18 (both, one after the other)
 */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { Pool } from "pg";
import { makeCalls } from "../../src/postgres/calls.ts";
import { pg } from "../../src/postgres/pg.ts";
import type { PostgresVersion } from "../postgres/binaries.ts";
import { emptyDatabase } from "../postgres/fresh-database.ts";
import { startPostgres } from "../postgres/server.ts";
import { tellUsage } from "../usage.ts";
import { fillWithAMillion, runs } from "./a-million.ts";
import { quantile } from "./figures.ts";

interface EntryTime {
  readonly entry: string;
  readonly medianMs: number;
  readonly longestMs: number;
  /** What the median may be. */
  readonly budgetMs: number;
}

const rounds = 15;

const statuses = [
  "queued",
  "running",
  "sleeping",
  "waiting",
  "retrying",
  "blocked",
  "completed",
  "failed",
  "cancelled",
];

/** Answers what each function took, in a database of its own on the server. */
async function timeAmongAMillion(serverUrl: string): Promise<readonly EntryTime[]> {
  const { url } = await emptyDatabase(serverUrl);
  const pool = new Pool({ connectionString: url, max: 1 });
  try {
    await fillWithAMillion(pool);
    return await timeEach(pool);
  } finally {
    await pool.end();
  }
}

async function timeEach(pool: Pool): Promise<readonly EntryTime[]> {
  const among = await openAmong(pool);
  const watch = new Stopwatch();
  await timeStarts(watch, among);
  await timeTurns(watch, among);
  await timeScheduler(watch, among);
  await timeVisits(watch, among);
  await timeLists(watch, among);
  await timeOperators(watch, among);
  return watch.times;
}

/** The calls and the runs of the calls that are timed. */
type Among = Awaited<ReturnType<typeof openAmong>>;

async function openAmong(pool: Pool) {
  const alarm = async (): Promise<void> => {};
  const calls = makeCalls({ query: pg(pool), namespace: "default", alarm });
  const [environment, endpoint, versions] = ["default", calls.endpoint, { flow: [1] }];
  const terms = { environment, endpoint, versions, leaseMs: 60_000, maxClaims: 50, maxBeginnings: 5 };
  await calls.adoptEnvironment(environment);
  const now = await calls.now();
  const deployment = { environment, deploymentName: "bench", deployment: "one" };
  await calls.noteDeployment({ ...deployment, note: "deployed", versions });
  await calls.noteDeployment({ ...deployment, note: "looked" });
  const { rows } = await pool.query<{ id: string }>(
    "select id from made where kind = 'waiting' order by random() limit 500",
  );
  const waiting = rows.map(({ id }) => id);
  const nextWaiting = (): string => waiting.pop() ?? "";

  const started = async (): Promise<string> => {
    const runId = randomUUID();
    await calls.startRun({ runId, workflow: "flow", version: 1, encodedInput: "0null" });
    return runId;
  };
  const turnsOf = async (count: number) => {
    const turns = [];
    for (let number = 0; number < count; number += 1)
      turns.push({ runId: await started(), turn: 1, token: randomUUID(), alone: false });
    return turns;
  };
  const claimed = async (count: number) => {
    const turns = await turnsOf(count);
    await calls.claimTurns({ ...terms, turns });
    return turns;
  };
  return { pool, calls, terms, now, deployment, nextWaiting, started, turnsOf, claimed };
}

/** Times each call some times, and keeps what it took. */
class Stopwatch {
  readonly times: EntryTime[] = [];

  /** `prepare` is not timed. */
  async time<Given>(
    entry: string,
    budgetMs: number,
    prepare: () => Promise<Given>,
    call: (given: Given) => Promise<unknown>,
  ): Promise<void> {
    const took: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const given = await prepare();
      const began = performance.now();
      await call(given);
      took.push(performance.now() - began);
    }
    this.times.push({ entry, budgetMs, medianMs: quantile(took, 0.5), longestMs: Math.max(...took) });
  }

  /** Times a call that needs nothing prepared. */
  async timeBare(entry: string, budgetMs: number, call: () => Promise<unknown>): Promise<void> {
    await this.time(entry, budgetMs, async () => {}, call);
  }
}

async function timeStarts(watch: Stopwatch, { pool, started }: Among): Promise<void> {
  await watch.timeBare("read_clock", 5, () => pool.query("select layover.read_clock()"));
  await watch.timeBare("start_run", 10, started);
}

async function timeTurns(watch: Stopwatch, { calls, terms, now, turnsOf, claimed }: Among): Promise<void> {
  const finishOf = ({ runId, token }: { readonly runId: string; readonly token: string }) => {
    const record = { kind: "step" as const, path: "second", occurrence: 1, value: "0null", at: now };
    return { runId, token, position: 0, next: "completed" as const, value: "0null", records: [record] };
  };

  await watch.time(
    "claim_turns of 1",
    10,
    () => turnsOf(1),
    (turns) => calls.claimTurns({ ...terms, turns }),
  );
  await watch.time(
    "claim_turns of 100",
    50,
    () => turnsOf(100),
    (turns) => calls.claimTurns({ ...terms, turns, budgetBytes: 1e7 }),
  );
  await watch.time(
    "finish_turns of 1",
    10,
    () => claimed(1),
    (turns) => calls.finishTurns(turns.map(finishOf), []),
  );
  await watch.time(
    "finish_turns of 100",
    50,
    () => claimed(100),
    (turns) => calls.finishTurns(turns.map(finishOf), []),
  );
  await watch.time(
    "renew_leases of 100",
    50,
    () => claimed(100),
    (turns) => calls.renewLeases({ leaseMs: 60_000, turns }),
  );
  await watch.time(
    "return_leases of 100",
    50,
    () => claimed(100),
    (turns) => calls.returnLeases(turns),
  );
  await watch.time(
    "read_page",
    10,
    () => claimed(1),
    ([turn]) =>
      calls.readPage({
        runId: turn?.runId ?? "",
        token: turn?.token ?? "",
        epoch: 0,
        after: 0,
        through: 1,
        budgetBytes: 1,
      }),
  );
}

async function timeScheduler(watch: Stopwatch, { calls, terms, now, deployment }: Among): Promise<void> {
  const due = { ...deployment, versions: terms.versions, limit: 500 };
  await watch.timeBare("list_due of 500", 50, () => calls.listDue(due));
  await watch.timeBare("list_due of a new deployment", 250, () => calls.listDue({ ...due, isNew: true }));
  await watch.time(
    "move_due of 500",
    100,
    async () => (await calls.listDue(due)).runs,
    (all) =>
      calls.moveDue({
        moves: all.map(({ runId, dueAt }) => ({
          runId,
          seenDueAt: dueAt,
          dueAt: now + 60_000,
          isDispatched: true,
          branches: [],
        })),
      }),
  );
  await watch.timeBare("note_deployment", 10, () => calls.noteDeployment({ ...deployment, note: "seen" }));
}

async function timeVisits(watch: Stopwatch, { calls, nextWaiting }: Among): Promise<void> {
  await watch.timeBare("send_signal", 10, () =>
    calls.sendSignal({ runId: nextWaiting(), signalId: randomUUID(), name: "go", encodedPayload: "0null" }),
  );
  const place = { path: "nothing", occurrence: 1, epoch: 0 };
  await watch.timeBare("answer_callback", 10, () =>
    calls.answerCallback({ runId: nextWaiting(), ...place, outcome: "resolved", value: "0null" }),
  );
  await watch.timeBare("read_callback", 10, () => calls.readCallback({ runId: nextWaiting(), ...place }));
  await watch.timeBare("get_run by its own id", 10, () => calls.getRun({ workflow: "flow", id: "user-500000" }));
  await watch.timeBare("get_history", 10, () => calls.getHistory({ runId: nextWaiting() }));
}

async function timeLists(watch: Stopwatch, { calls }: Among): Promise<void> {
  const page = { limit: 20, walk: 2_000 };
  await watch.timeBare("list_runs", 20, () => calls.listRuns(page));
  for (const status of statuses)
    await watch.timeBare(`list_runs of status ${status}`, 200, () => calls.listRuns({ ...page, status }));
  await watch.timeBare("list_runs of a workflow", 20, () => calls.listRuns({ ...page, workflow: "flow" }));
  await watch.timeBare("list_runs of a workflow that has none", 20, () =>
    calls.listRuns({ ...page, workflow: "other" }),
  );
  await watch.timeBare("list_runs of a tag", 50, () => calls.listRuns({ ...page, tags: { group: "7" } }));
  await watch.timeBare("list_runs of a tag that no run has", 50, () =>
    calls.listRuns({ ...page, tags: { group: "none" } }),
  );
  const parent = randomUUID();
  await watch.timeBare("list_runs of a parent", 20, () => calls.listRuns({ ...page, parent }));
  const [old, older] = [1764590400000 + 1_000_000_000, 1764590400000 + 990_000_000];
  await watch.timeBare("list_runs created then", 20, () =>
    calls.listRuns({ ...page, createdFrom: older, createdBefore: old }),
  );
  await watch.timeBare("list_runs that ended then", 20, () =>
    calls.listRuns({ ...page, endedFrom: older, endedBefore: old }),
  );
  await watch.timeBare("list_runs of a version that no run has", 200, () =>
    calls.listRuns({ ...page, workflow: "flow", version: 2 }),
  );
}

async function timeOperators(watch: Stopwatch, { calls, terms: { environment, versions } }: Among): Promise<void> {
  const process = { environment, id: randomUUID(), door: "http://127.0.0.1:1", versions, gone: [], silentMs: 60_000 };
  await watch.timeBare("note_process", 10, () => calls.noteProcess(process));
  await watch.timeBare("diagnose", 1_000, () => calls.diagnose());
  await watch.timeBare("prune_runs of 500", 200, () => calls.pruneRuns({ keepMs: 0, keepFailedMs: 0, limit: 500 }));
  const key = () => ({ keyId: randomUUID(), name: randomUUID(), scopes: ["read"] });
  await watch.time(
    "create_key",
    10,
    async () => key(),
    (made) => calls.createKey(made),
  );
  await watch.timeBare("list_keys", 10, () => calls.listKeys());
  // Reads the whole table, once, when an embedded database is opened.
  await watch.timeBare("void_leases", 3_000, () => calls.voidLeases());
}

tellUsage(import.meta.url);
const { values } = parseArgs({
  options: { check: { type: "boolean", default: false }, postgres: { type: "string" } },
});
const versions: readonly PostgresVersion[] =
  values.postgres === undefined ? [15, 18] : [values.postgres === "15" ? 15 : 18];
for (const version of versions) {
  const postgres = await startPostgres({ version, settings: { shared_buffers: "512MB", max_wal_size: "4GB" } });
  try {
    const times = await timeAmongAMillion(postgres.url);
    console.log(
      `PostgreSQL ${version}, ${runs} runs, ms of ${rounds} calls each: median, longest, budget of the median`,
    );
    for (const { entry, medianMs, longestMs, budgetMs } of times) {
      const mark = medianMs > budgetMs ? "OVER " : "     ";
      console.log(
        `${mark}${entry.padEnd(45)}${[medianMs, longestMs].map((ms) => ms.toFixed(1).padStart(9)).join("")}${String(budgetMs).padStart(7)}`,
      );
    }
    if (values.check && times.some(({ medianMs, budgetMs }) => medianMs > budgetMs)) process.exitCode = 1;
  } finally {
    await postgres.stop();
  }
}
