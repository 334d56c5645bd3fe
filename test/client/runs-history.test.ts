/** The history of a run, which may be long: a page of its records at a time, and the last of its failed attempts. */
import { describe, expect, it } from "vitest";
import type { HistoryOptions, HistoryView } from "../../src/client/history-view.ts";
import { Unreadable } from "../../src/client/unreadable.ts";
import { encode } from "../../src/core/codec/codec.ts";
import { testDatabase } from "../postgres/database.ts";
import { contracts, order } from "./contracts.ts";
import { type FacedClient, faces } from "./faces.ts";

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
