import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { HistoryOptions, HistoryView } from "../../src/client/history-view.ts";
import type { RunFailedError } from "../../src/client/run-failed-error.ts";
import { Unreadable } from "../../src/client/unreadable.ts";
import { encode } from "../../src/core/codec/codec.ts";
import { type Contract, workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { aClient, aHastyHost, carryOut } from "./a-client.ts";
import { type FacedClient, faces } from "./faces.ts";

const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ n: z.number() }),
  output: z.object({ charge: z.string() }),
});
const other = workflow({ name: "other", version: 1 });
const contracts: readonly Contract[] = [order, other];

describe("result", () => {
  const database = testDatabase();

  it("waits for the end, asking less and less often, and answers what the run resulted in", async () => {
    const host = aHastyHost();
    const { client, calls, statements } = aClient(database.query, { host });
    const run = await client.start(order, { n: 1 });
    const result = run.result();
    await expect.poll(() => host.pauses.length).toBeGreaterThan(5);
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { completed: { charge: "c1" } });
    expect(await result).toEqual({ charge: "c1" });
    expect(host.pauses).toEqual(host.pauses.toSorted((one, next) => one - next));
    expect(statements.filter((text) => text.includes("get_run")).length).toBe(host.pauses.length + 1);
  });

  it("asks about 25 times in a minute, and gives up with a TimeoutError", async () => {
    const host = aHastyHost();
    const { client, statements } = aClient(database.query, { host });
    const run = await client.start(order, { n: 1 });
    await expect(run.result({ wait: "1 min" })).rejects.toMatchObject({
      name: "TimeoutError",
      message: 'the run of "order" was not over within 1 min',
    });
    expect(host.monotonic()).toBe(60_000);
    expect(statements.length).toBeLessThan(35);
  });

  it("stops asking when it is told to", async () => {
    const { client } = aClient(database.query);
    const run = await client.start(order, { n: 1 });
    await expect(run.result({ abortSignal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe.each(faces)("result, $face", ({ open }) => {
  const database = testDatabase();

  it("throws what a failed run failed of", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 });
    const cause = { name: "StepError", message: "step charge failed", data: { card: "x" } };
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { failed: cause });
    const error: RunFailedError = await run.result().then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ name: "RunFailedError", runId: run.runId, status: "failed", cause });
    expect(error.message).toBe(`the run ${run.runId} failed: StepError: step charge failed`);
  });

  it("throws for a cancelled run as well", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 });
    await carryOut(
      calls,
      { runId: run.runId, workflow: "order" },
      { cancelled: { name: "CancelledError", message: "no" } },
    );
    await expect(run.result()).rejects.toMatchObject({ status: "cancelled", cause: { name: "CancelledError" } });
  });

  it("does not take another workflow's result for this contract's", async () => {
    const { client, calls } = open(database.query, contracts);
    const { runId } = await client.start(other);
    await carryOut(calls, { runId, workflow: "other" }, { completed: 42 });
    await expect(client.run(order, runId).result()).rejects.toMatchObject({ code: "unknown_run" });
    expect(await client.result(runId)).toBe(42);
  });
});

describe.each(faces)("get, runById and history, $face", ({ open }) => {
  const database = testDatabase();

  it("shows a run with dates and decoded values", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 }, { id: "o1" });
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { completed: { charge: "c1" } });
    const view = await client.get(run.runId);
    expect(view).toMatchObject({
      runId: run.runId,
      id: "o1",
      status: "completed",
      input: { n: 1 },
      result: { charge: "c1" },
    });
    expect(view.createdAt).toBeInstanceOf(Date);
    expect(view.endedAt).toBeInstanceOf(Date);
    expect(view.error).toBeUndefined();
  });

  it("finds a run by the user's own id", async () => {
    const { client } = open(database.query, contracts);
    const run = await client.start(order, { n: 1 }, { id: "by id" });
    expect((await client.runById(order, "by id")).runId).toBe(run.runId);
    await expect(client.runById(other, "by id")).rejects.toMatchObject({
      code: "unknown_run",
      message: 'workflow "other" has no run with the id "by id"',
    });
  });

  it("tells an unknown run, and asks nothing for what can be no id", async () => {
    const { client, statements } = open(database.query, contracts);
    await expect(client.get("0190a1b2-0000-7000-8000-000000000000")).rejects.toMatchObject({ code: "unknown_run" });
    const sent = statements.length;
    for (const id of ["", "42", "\u0000", "x".repeat(1_000_000), "0190a1b2-0000-7000-8000-00000000000g"]) {
      await expect(client.get(id)).rejects.toMatchObject({ code: "unknown_run" });
      await expect(client.history(id)).rejects.toMatchObject({ code: "unknown_run" });
    }
    expect(statements.length).toBe(sent);
  });

  it("shows the timeline: records, failed attempts and what is waited for", async () => {
    const { client, calls } = open(database.query, contracts);
    const { runId } = await client.start(order, { n: 1 });
    const token = crypto.randomUUID();
    const at = Date.now();
    await calls.claimTurns({
      environment: "test",
      endpoint: calls.endpoint,
      versions: { order: [1] },
      leaseMs: 60_000,
      maxClaims: 50,
      maxBeginnings: 5,
      turns: [{ runId, turn: 1, token, alone: false }],
    });
    await calls.finishTurns(
      [
        {
          runId,
          token,
          position: 0,
          next: "parked",
          records: [
            {
              kind: "step",
              path: "charge",
              occurrence: 0,
              value: '1{"$":"Date","v":"2026-01-01T00:00:00.000Z"}',
              at,
              beganAt: at - 5,
              attempts: 2,
            },
            {
              kind: "step",
              path: "ship",
              occurrence: 0,
              value: '1{"name":"Error","message":"no"}',
              isFailure: true,
              at,
              attempts: 1,
            },
          ],
          demands: [
            { kind: "signal", path: "address", occurrence: 0, signal: "address", demandedAfter: 2, ordinal: 0 },
          ],
        },
      ],
      [],
    );
    const { records, pending } = await client.history(runId);
    expect(records).toMatchObject([
      {
        position: 1,
        kind: "step",
        path: "charge",
        isFailure: false,
        value: new Date("2026-01-01"),
        attempts: 2,
        beganAt: new Date(at - 5),
      },
      { position: 2, path: "ship", isFailure: true, value: { name: "Error", message: "no" }, recordedAt: new Date(at) },
    ]);
    expect(pending).toMatchObject([
      { kind: "signal", path: "address", signal: "address", until: undefined, attempts: 0 },
    ]);
    expect((await client.get(runId)).status).toBe("waiting");
  });
});

describe.each(faces)("history, $face", ({ open }) => {
  const database = testDatabase();

  /** A run that has recorded so many steps, each with its position as the result. */
  async function aLongRun({ client, calls }: FacedClient, steps: number): Promise<string> {
    const { runId } = await client.start(order, { n: 1 });
    const token = crypto.randomUUID();
    const leaseMs = 60_000;
    const terms = {
      environment: "test",
      endpoint: calls.endpoint,
      versions: { order: [1] },
      leaseMs,
      maxClaims: 50,
      maxBeginnings: 5,
    };
    await calls.claimTurns({ ...terms, turns: [{ runId, turn: 1, token, alone: false }] });
    const records = Array.from({ length: steps }, (_, index) => ({
      kind: "step" as const,
      path: "n",
      occurrence: index,
      value: encode(index + 1),
      at: Date.now(),
      attempts: 1,
    }));
    await calls.finishTurns([{ runId, token, position: 0, next: "parked", records }], []);
    return runId;
  }

  it("answers the records a page at a time, and where the next one begins", async () => {
    const test = open(database.query, contracts);
    const runId = await aLongRun(test, 205);
    const pages: number[][] = [];
    let after: number | undefined = 0;
    while (after !== undefined) {
      const page: HistoryView = await test.client.run(order, runId).history({ after });
      pages.push(page.records.map(({ value }) => Number(value)));
      after = page.next;
    }
    expect(pages.map((page) => [page.length, page[0], page.at(-1)])).toEqual([
      [100, 1, 100],
      [100, 101, 200],
      [5, 201, 205],
    ]);
  });

  it("says that there is no further page where the last one is full", async () => {
    const test = open(database.query, contracts);
    const runId = await aLongRun(test, 4);
    const page = (options: HistoryOptions) => test.client.history(runId, options);
    expect(await page({ limit: 2 })).toMatchObject({ records: [{ position: 1 }, { position: 2 }], next: 2 });
    expect(await page({ limit: 2, after: 2 })).toMatchObject({ records: [{}, {}], next: undefined });
    expect(await page({ after: 4 })).toMatchObject({ records: [], next: undefined });
  });

  it("has the last failed attempts only where all would be too long, and how many there are", async () => {
    const test = open(database.query, contracts);
    const runId = await aLongRun(test, 1);
    await database.pool.query(
      `insert into layover.attempt (run_id, epoch, path, occurrence, number, began_at, ended_at, error)
        select $1, 0, 'n', 0, i, now() + i * interval '1 second', now() + i * interval '1 second', $2
          from generate_series(1, 30) i`,
      [runId, encode({ name: "Error", message: "x".repeat(100_000) })],
    );
    const { attempts, attemptCount } = await test.client.history(runId);
    expect(attemptCount).toBe(30);
    expect(attempts.map(({ number }) => number)).toEqual(Array.from({ length: 19 }, (_, index) => 12 + index));
  });

  it("shows the others when one cannot be read, and says why it cannot", async () => {
    const test = open(database.query, contracts);
    const runId = await aLongRun(test, 2);
    await database.pool.query("update layover.record set value = '9?' where run_id = $1 and position = 1", [runId]);
    const { records } = await test.client.history(runId);
    const unreadable = new Unreadable('the stored value cannot be read: its format "9" is unknown here');
    expect(records.map(({ value }) => value)).toEqual([unreadable, 2]);
    expect(records[0]?.value).toBeInstanceOf(Unreadable);
  });

  it("refuses a page that is none", async () => {
    const { client } = open(database.query, contracts);
    const { runId } = await client.start(order, { n: 1 });
    for (const limit of [0, -1, 1_001, 1.5, Number.NaN]) {
      await expect(client.history(runId, { limit })).rejects.toMatchObject({
        code: "invalid_request",
        details: { field: "limit" },
      });
    }
    for (const after of [-1, 1.5, Number.NaN, 1e10]) {
      await expect(client.history(runId, { after })).rejects.toMatchObject({
        code: "invalid_request",
        details: { field: "after" },
      });
    }
  });
});

describe.each(faces)("list, $face", ({ open }) => {
  const database = testDatabase();

  it("answers pages, newest first, without a run twice or none", async () => {
    const { client } = open(database.query, contracts);
    const runIds: string[] = [];
    for (let n = 0; n < 7; n += 1)
      runIds.unshift((await client.start(order, { n }, { tags: { list: "pages" } })).runId);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.list({ tags: { list: "pages" }, limit: 3, cursor });
      seen.push(...page.runs.map((run) => run.runId));
      cursor = page.cursor;
      if (seen.length === 3) await client.start(order, { n: 9 }, { tags: { list: "pages" } });
    } while (cursor !== undefined);
    expect(seen).toEqual(runIds);
  });

  it("filters by workflow, status and all of the tags", async () => {
    const { client, calls } = open(database.query, contracts);
    const tags = { customer: "c1", region: "eu" };
    const one = await client.start(order, { n: 1 }, { tags });
    const two = await client.start(other, undefined, { tags });
    await client.start(other, undefined, { tags: { customer: "c1", region: "us" } });
    await carryOut(calls, { runId: two.runId, workflow: "other" }, { completed: 1 });
    const ids = async (options: Parameters<typeof client.list>[0]) =>
      (await client.list(options)).runs.map((run) => run.runId);
    expect(await ids({ tags })).toEqual([two.runId, one.runId]);
    expect(await ids({ tags, workflow: "order" })).toEqual([one.runId]);
    expect(await ids({ tags, status: "completed" })).toEqual([two.runId]);
    expect(await ids({ tags: { ...tags, customer: "c2" } })).toEqual([]);
  });

  it("filters by version, by the time of creation and of the end, and by the run that started it", async () => {
    const { client, calls } = open(database.query, contracts);
    const tags = { list: "filters" };
    const parent = await client.start(other, undefined, { tags });
    const child = await client.start(order, { n: 1 }, { tags });
    await carryOut(calls, { runId: child.runId, workflow: "order" }, { completed: 1 });
    const set = (table: string, id: string, assignment: string) =>
      database.pool.query(`update layover.${table} set ${assignment} where ${id} = '${child.runId}'`);
    await set("run", "id", `parent_run_id = '${parent.runId}', version = 7, created_at = '2020-01-01T12:00:00Z'`);
    await set("run_state", "run_id", "ended_at = '2020-01-02T12:00:00Z'");
    const ids = async (options: Parameters<typeof client.list>[0]) =>
      (await client.list({ tags, ...options })).runs.map((run) => run.runId);
    expect(await ids({})).toEqual([child.runId, parent.runId]);
    expect(await ids({ workflow: "order", version: 7 })).toEqual([child.runId]);
    expect(await ids({ workflow: "order", version: 1 })).toEqual([]);
    expect(await ids({ parent: parent.runId.toUpperCase() })).toEqual([child.runId]);
    expect(await ids({ parent: child.runId })).toEqual([]);
    const [created, ended] = [Date.UTC(2020, 0, 1, 12), new Date(Date.UTC(2020, 0, 2, 12))];
    const justAfter = (date: Date | number) => new Date(Number(date) + 1);
    expect(await ids({ createdFrom: created })).toEqual([child.runId, parent.runId]);
    expect(await ids({ createdFrom: justAfter(created) })).toEqual([parent.runId]);
    expect(await ids({ endedFrom: ended })).toEqual([child.runId]);
    expect(await ids({ endedFrom: justAfter(ended) })).toEqual([]);
    expect(await ids({ createdFrom: created, createdBefore: created })).toEqual([]);
    expect(await ids({ endedFrom: ended, endedBefore: ended })).toEqual([]);
  });

  it("refuses a version without a workflow, and what is no version, no instant and no id", async () => {
    const { client, statements } = open(database.query, contracts);
    const refused = async (options: Parameters<typeof client.list>[0]) =>
      await client.list(options).then(
        () => "listed",
        (error) => `${error.code} ${error.details.field ?? ""}`,
      );
    const before = statements.length;
    expect(await refused({ version: 1 })).toBe("invalid_request version");
    expect(await refused({ version: 0, workflow: "order" })).toBe("invalid_request version");
    expect(await refused({ version: 1.5, workflow: "order" })).toBe("invalid_request version");
    expect(await refused({ createdFrom: new Date("no") })).toBe("invalid_request createdFrom");
    expect(await refused({ createdBefore: -1 })).toBe("invalid_request createdBefore");
    expect(await refused({ endedFrom: Date.UTC(10_000, 0) })).toBe("invalid_request endedFrom");
    expect(await refused({ endedBefore: Number.NaN })).toBe("invalid_request endedBefore");
    expect(await refused({ parent: "order/o1" })).toBe("unknown_run ");
    expect(statements.length).toBe(before);
  });

  it("shows the others when one cannot be read, and says why it cannot", async () => {
    const { client } = open(database.query, contracts);
    const broken = await client.start(order, { n: 1 }, { tags: { list: "broken" } });
    const well = await client.start(order, { n: 2 }, { tags: { list: "broken" } });
    await database.pool.query("update layover.run set input = '9?' where id = $1", [broken.runId]);
    const { runs } = await client.list({ tags: { list: "broken" } });
    expect(runs.map((run) => run.runId)).toEqual([well.runId, broken.runId]);
    expect(runs[1]?.input).toEqual(new Unreadable('the stored value cannot be read: its format "9" is unknown here'));
  });

  it("leaves long values out, which `get` shows", async () => {
    const anything = workflow({ name: "anything", version: 1, input: z.string() });
    const { client } = open(database.query, [anything]);
    const { runId } = await client.start(anything, "x".repeat(20_000), { tags: { list: "long" } });
    const { runs } = await client.list({ tags: { list: "long" } });
    expect(runs[0]?.input).toEqual(new Unreadable("it is too long for this answer: get the run by itself"));
    expect((await client.get(runId)).input).toHaveLength(20_000);
  });

  it("refuses a cursor that it did not answer, and a limit beyond 200", async () => {
    const { client } = open(database.query, contracts);
    for (const cursor of ["", "2", "1'; drop table", "10190a1b2"]) {
      await expect(client.list({ cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
    }
    for (const limit of [0, -1, 201, 1.5, Number.NaN]) {
      await expect(client.list({ limit })).rejects.toMatchObject({
        code: "invalid_request",
        details: { field: "limit" },
      });
    }
  });

  it("does not see another namespace", async () => {
    const { client } = open(database.query, contracts);
    const { runId } = await client.start(order, { n: 1 });
    await database.pool.query("update layover.run set namespace = 'foreign' where id = $1", [runId]);
    await expect(client.get(runId)).rejects.toMatchObject({ code: "unknown_run" });
    expect((await client.list({ limit: 200 })).runs.map((run) => run.runId)).not.toContain(runId);
  });
});
