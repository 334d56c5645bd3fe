/** Runs with large histories that are due together: nothing is answered in one piece that is too large for a process. */
import { expect, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { type Query, QueryError } from "../../src/core/ports.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase();

const large = workflow({ name: "large", version: 1 });
const largeWorkflow = large.handler(async ({ step }) => {
  let bytes = 0;
  for (let number = 1; number <= 6; number += 1) bytes += (await step.run(`part ${number}`, () => "never")).length;
  return await step.run("sum", () => bytes);
});

/** Starts runs of the workflow that has the namespace's name. */
async function startRuns(namespace: string, count: number): Promise<void> {
  await database.pool.query(
    `with started as materialized (
       select layover.start_run(json_build_object('namespace', $1::text, 'runId', layover.new_id(), 'workflow', $1::text,
         'version', 1, 'input', null)::jsonb) from generate_series(1, $2))
     select count(*) from started`,
    [namespace, count],
  );
}

test("the bytes of a history are counted as Postgres stores them", async () => {
  const abroad = workflow({ name: "abroad", version: 1 });
  const handler = abroad.handler(async ({ step }) => {
    await step.run("translate", () => "字".repeat(1_000));
    await Promise.all([step.run("left", () => "é"), step.run("right", () => "🚂")]);
  });
  const host = await startInProcess({ workflows: [handler], database: database.query, namespace: "abroad" });
  await (await host.client.start(abroad)).result();
  await host.close();
  const { rows } = await database.pool.query(
    `select s.status, s.history_bytes, (select sum(octet_length(h.value))::integer from layover.record h
         where h.run_id = s.run_id) as stored
       from layover.run_state s where s.namespace = 'abroad'`,
  );
  expect(rows).toEqual([{ status: "completed", history_bytes: 3_015, stored: 3_015 }]);
});

test("100 due runs with histories of 6 MiB are all carried out", { timeout: 300_000 }, async () => {
  const count = 100;
  await startRuns("large", count);
  await database.pool.query(
    `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
       select s.run_id, 0, n, 'step', 'part ' || n, 1, false, layover.now(), '0"' || repeat('x', 1048573) || '"'
         from layover.run_state s, generate_series(1, 6) as n where s.namespace = 'large'`,
    [],
  );
  await database.pool.query(
    `update layover.run_state set last_position = 6, handed_position = 6, history_bytes = 6 * 1048576,
       due_at = layover.now() where namespace = $1`,
    ["large"],
  );
  const errors: unknown[] = [];
  const { dispatch, close } = await startInProcess({
    workflows: [largeWorkflow],
    database: database.query,
    namespace: "large",
    onError: (error) => errors.push(error),
  });
  await expect
    .poll(
      async () => {
        await dispatch.idle();
        const { rows } = await database.pool.query(
          "select count(*)::integer as done from layover.run_state where namespace = $1 and status = 'completed'",
          ["large"],
        );
        return rows[0]?.done;
      },
      { timeout: 240_000, interval: 200 },
    )
    .toBe(count);
  await close();
  expect(errors).toEqual([]);
});

test("runs with slow bodies are at work together only as far as their histories have room", async () => {
  const [count, atOnce] = [7, 3];
  const most = { atWork: 0 };
  let atWork = 0;
  const release = new Set<() => void>();
  const slow = workflow({ name: "slow", version: 1 }).handler(async ({ step }) => {
    await step.run("part", () => "never");
    await step.run("slow", async () => {
      atWork += 1;
      most.atWork = Math.max(most.atWork, atWork);
      await new Promise<void>((resolve) => release.add(resolve));
      atWork -= 1;
    });
  });
  await startRuns("slow", count);
  await database.pool.query(
    `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
       select s.run_id, 0, 1, 'step', 'part', 1, false, layover.now(), '0"' || repeat('x', 1048573) || '"'
         from layover.run_state s where s.namespace = 'slow'`,
  );
  await database.pool.query(
    `update layover.run_state set last_position = 1, handed_position = 1, history_bytes = 15728640, due_at = layover.now()
      where namespace = 'slow'`,
  );
  const { close } = await startInProcess({
    workflows: [slow],
    database: database.query,
    namespace: "slow",
    batch: 1,
    workBytes: atOnce * 16_777_216,
  });
  const completed = async () => {
    const query = "select from layover.run_state where namespace = 'slow' and status = 'completed'";
    return (await database.pool.query(query)).rowCount;
  };
  for (let done = 0; done < count; done += 1) {
    await expect.poll(() => atWork).toBe(Math.min(atOnce, count - done));
    const [next] = release;
    if (next === undefined) throw new Error("nothing is at work");
    release.delete(next);
    next();
    await expect.poll(completed).toBe(done + 1);
  }
  expect(most.atWork).toBe(atOnce);
  await close();
});

test("a run whose history is still read counts with all of it, so that no other is claimed in its place", async () => {
  const [count, atOnce] = [6, 2];
  const paged = workflow({ name: "paged", version: 1 }).handler(async ({ step }) => {
    for (let number = 1; number <= 2; number += 1) await step.run(`part ${number}`, () => "never");
  });
  await startRuns("paged", count);
  await database.pool.query(
    `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
       select s.run_id, 0, n, 'step', 'part ' || n, 1, false, layover.now(), '0"' || repeat('x', 1048573) || '"'
         from layover.run_state s, generate_series(1, 2) as n where s.namespace = 'paged'`,
  );
  await database.pool.query(
    `update layover.run_state set last_position = 2, handed_position = 2, history_bytes = 14680064, due_at = layover.now()
      where namespace = 'paged'`,
  );
  const reading = { now: 0, most: 0 };
  const isRead = Promise.withResolvers<void>();
  const mayRead = Promise.withResolvers<void>();
  let claims = 0;
  const watched: Query = Object.assign(
    async (...[text, parameters]: Parameters<Query>) => {
      if (text.includes("claim_turns")) {
        claims += 1;
        const isFirst = claims === 1;
        const rows = await database.query(text, parameters);
        if (!isFirst) await isRead.promise; // the first run is read before the second one is claimed
        return rows;
      }
      if (!text.includes("read_page")) return await database.query(text, parameters);
      isRead.resolve();
      reading.now += 1;
      reading.most = Math.max(reading.most, reading.now);
      await mayRead.promise;
      const rows = await database.query(text, parameters);
      reading.now -= 1;
      return rows;
    },
    { endpoint: database.query.endpoint },
  );
  const { client, close } = await startInProcess({
    ...{ workflows: [paged], database: watched, namespace: "paged" },
    ...{ batch: 1, claimBytes: 1_048_576, workBytes: atOnce * 16_777_216 },
  });
  await expect.poll(() => reading.now).toBeGreaterThanOrEqual(atOnce);
  const claimed = "select from layover.run_state where namespace = 'paged' and status = 'running'";
  for (let looks = 0; looks < 20; looks += 1)
    expect((await database.pool.query(claimed)).rowCount).toBeLessThanOrEqual(atOnce);
  mayRead.resolve();
  const { runs } = await client.list();
  for (const { runId } of runs) await client.result(runId, { wait: "30s" });
  expect([runs.length, reading.most]).toEqual([count, atOnce]);
  await close();
});

test("a run whose history is as large as it may be is read in pages, and replayed as one", async () => {
  const parts = 16;
  const whole = workflow({ name: "whole", version: 1 }).handler(async ({ step }) => {
    let bytes = 0;
    for (let number = 1; number < parts; number += 1) bytes += (await step.run("part", () => "never")).length;
    return await step.run("sum", () => bytes);
  });
  const runId = crypto.randomUUID().replace(/^.{13}/, "01890000-0000");
  await database.query("select layover.start_run($1)", [
    JSON.stringify({ namespace: "whole", runId, workflow: "whole", version: 1, input: null }),
  ]);
  // A quotation mark has two bytes in its record, and four in an answer.
  await database.query(
    `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
       select $1::uuid, 0, n, 'step', 'part', n, false, layover.now(), '0"' || repeat('\\"', 524280) || '"'
         from generate_series(1, $2::integer - 1) as n`,
    [runId, parts],
  );
  await database.query(
    `update layover.run_state set last_position = $2, handed_position = $2, history_bytes = $2 * 1048576,
       due_at = layover.now() where run_id = $1`,
    [runId, parts - 1],
  );
  const answers: number[] = [];
  const watched: Query = Object.assign(
    async (...[text, parameters]: Parameters<Query>) => {
      const rows = await database.query(text, parameters);
      answers.push(JSON.stringify(rows).length);
      return rows;
    },
    { endpoint: database.query.endpoint },
  );
  const claimBytes = 8 * 1024 * 1024;
  const { client, close } = await startInProcess({
    workflows: [whole],
    database: watched,
    namespace: "whole",
    claimBytes,
  });
  expect(await client.result(runId, { wait: "60s" })).toBe((parts - 1) * 524_280);
  expect(Math.max(...answers)).toBeLessThan(claimBytes);
  expect(Math.max(...answers)).toBeGreaterThan(claimBytes / 2);
  await close();
});

test("a claim whose answer is too large for the driver is sent again in halves", async () => {
  const small = workflow({ name: "small", version: 1 });
  const sizes: number[] = [];
  const narrow = async (...[text, parameters]: Parameters<Query>) => {
    const turns = text.includes("claim_turns") ? JSON.parse(String(parameters?.[0])).turns.length : 0;
    if (turns > 0) sizes.push(turns);
    const cause = Object.assign(new Error("Cannot create a string longer than …"), { code: "ERR_STRING_TOO_LONG" });
    const rows = await database.query(text, parameters);
    if (turns > 4) throw new QueryError(cause.message, { isRolledBack: false, cause });
    return rows;
  };
  // The first look of the process finds all nine.
  const runIds = await Promise.all(
    Array.from({ length: 9 }, async () => {
      const runId = crypto.randomUUID().replace(/^.{13}/, "01890000-0000");
      await database.query("select layover.start_run($1)", [
        JSON.stringify({ namespace: "small", runId, workflow: "small", version: 1, input: null }),
      ]);
      return runId;
    }),
  );
  const { client, close } = await startInProcess({
    workflows: [small.handler(({ step }) => step.run("it", () => "done"))],
    database: Object.assign(narrow, { endpoint: database.query.endpoint }),
    namespace: "small",
  });
  for (const runId of runIds) expect(await client.result(runId, { wait: "30s" })).toBe("done");
  expect(sizes).toEqual([9, 5, 3, 2, 4]); // each that is too large is sent once
  await close();
});
