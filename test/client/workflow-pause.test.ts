/** The pause of a workflow, by the client. */
import { describe, expect, it } from "vitest";
import type { ClientVerbs } from "../../src/client/verbs.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { aHastyHost } from "./a-client.ts";
import { faces } from "./faces.ts";

const nap = workflow({ name: "nap / 100%", version: 1 });
const other = workflow({ name: "other", version: 1 });

describe.each(faces)("the pause of a workflow, $face", ({ open }) => {
  const database = testDatabase({ perTest: true });

  const statuses = async (client: ClientVerbs) =>
    (await client.list()).runs.map(({ status, isHeld }) => (isHeld ? `${status}, held` : status)).toReversed();

  it("holds its runs and new ones, until it is resumed, and leaves others alone", async () => {
    const { client, dispatches } = open(database.query, [nap, other], { host: aHastyHost() });
    const first = await client.start(nap);
    await client.start(nap);
    await client.start(other);
    await client.pause(first.runId);
    const seen: number[] = [];
    const options = {
      by: "ada",
      reason: "their API is down",
      onProgress: ({ runs }: { runs: number }) => seen.push(runs),
    };
    const paused = await client.pauseWorkflow(nap.name, options);
    expect(paused).toMatchObject({ runs: 1, outcomes: { paused: 1 }, refused: [], mayMissStarts: false });
    expect(seen).toEqual([1]);
    const before = dispatches.length;
    await client.start(nap);
    expect(dispatches.length).toBe(before);
    expect(await statuses(client)).toEqual(["paused", "paused, held", "queued", "paused, held"]);
    const resumed = await client.resumeWorkflow(nap.name, { by: "bob", perSecond: 1 });
    expect(resumed).toMatchObject({ runs: 2, outcomes: { resumed: 2 }, mayMissStarts: false });
    expect(dispatches.slice(before).flatMap(({ turns }) => turns)).toHaveLength(2);
    await client.start(nap);
    expect(await statuses(client)).toEqual(["paused", "queued", "queued", "queued", "queued"]);
  });

  it("goes on by its callId, and does nothing twice", async () => {
    const { client } = open(database.query, [nap], { host: aHastyHost() });
    const run = await client.start(nap);
    const { callId } = await client.pauseWorkflow(nap.name);
    await run.resume();
    expect(await client.pauseWorkflow(nap.name, { callId })).toMatchObject({ callId, runs: 1 });
    expect(await statuses(client)).toEqual(["queued"]);
    expect(await client.pauseWorkflow(nap.name)).toMatchObject({ callId });
  });

  it("says that it may miss starts whose transaction stays open", async () => {
    const { client } = open(database.query, [nap], { host: aHastyHost() });
    const connection = await database.pool.connect();
    try {
      await connection.query("begin");
      await connection.query(`select layover.start_run('{"workflow": "other", "version": 1}')`);
      expect(await client.pauseWorkflow(nap.name)).toMatchObject({ mayMissStarts: true });
    } finally {
      await connection.query("rollback");
      connection.release();
    }
    expect(await client.pauseWorkflow(nap.name)).toMatchObject({ mayMissStarts: false });
  });

  it("cannot be ended where there was none", async () => {
    const { client } = open(database.query, [nap]);
    await expect(client.resumeWorkflow("nobody")).rejects.toMatchObject({
      code: "not_applicable",
      message: 'the workflow "nobody" is not paused',
    });
  });

  it.each([
    [" nap", {}, "invalid_name"],
    ["nap", { callId: "1" }, "invalid_request"],
    ["nap", { perSecond: 0 }, "invalid_request"],
  ])("refuses %j with %j, and sends nothing", async (name, options, code) => {
    const { client, statements } = open(database.query, [nap]);
    const before = statements.length;
    await expect(client.pauseWorkflow(name, options)).rejects.toMatchObject({ code });
    await expect(client.resumeWorkflow(name, options)).rejects.toMatchObject({ code });
    expect(statements.length).toBe(before);
  });
});
