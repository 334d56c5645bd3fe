/** The list of runs: its pages, its filters, and what it leaves out. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { Unreadable } from "../../src/client/unreadable.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOut } from "./a-client.ts";
import { contracts, order, other } from "./contracts.ts";
import { faces } from "./faces.ts";

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
