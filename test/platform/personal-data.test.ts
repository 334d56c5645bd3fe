/** The data of a person is gone from every table once the person's runs are deleted by their tag. */
import { none, signal, start, webhook } from "layover/webhooks";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";

const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
const key = createApiKey(new Secrets([secret]), { name: "test", namespace: "default", scopes });
const person = "Ada Lovelace";
const tags = { customer: "42" };

const Person = z.object({ name: z.string() });
const greet = workflow({ name: "greet", version: 1, input: Person, output: z.string(), callbacks: { read: Person } });
const greetWorkflow = greet.handler(async ({ input, step }) => {
  let tries = 0;
  const text = await step.run(
    "write",
    () => {
      tries += 1;
      if (tries === 1) throw new Error(`no pen for ${input.name}`);
      return `Dear ${input.name}`;
    },
    { retry: { delay: 1, jitter: false } },
  );
  await step.waitForCallback("read", () => {});
  return text;
});

const visit = workflow({ name: "visit", version: 1, input: Person, status: z.string(), signals: { word: Person } });
const visitWorkflow = visit.handler(async ({ input, step }) => {
  step.setStatus(`visits ${input.name}`);
  await step.invoke("greet", greet, input, { tags });
  const word = await step.waitForSignal("word");
  throw new Error(`${word.name} was not at home`);
});

interface Mail {
  readonly kind: "start" | "signal";
  readonly id: string;
  readonly name: string;
}
const post = webhook({
  name: "post",
  verify: none({ reason: "a test" }),
  on: ({ event }) => {
    const { kind, id, name } = event as Mail;
    return kind === "start" ? start(visit, { name }, { id, tags }) : signal(visit, { id }, "word", { name });
  },
});

const database = testDatabase({ isOwn: true });
let server: NodeServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** The tables that hold the text somewhere. */
async function tablesWith(text: string): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    "select c.relname as name from pg_class c where c.relnamespace = 'layover'::regnamespace and c.relkind = 'r' order by 1",
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const like = await database.pool.query(`select from layover.${name} t where t::text like $1`, [`%${text}%`]);
    if ((like.rowCount ?? 0) > 0) found.push(name);
  }
  return found;
}

test("the deletion of all runs with a person's tag leaves the person's name in no table", async () => {
  server = await serve({
    workflows: [greetWorkflow, visitWorkflow],
    webhooks: [post],
    database: database.query,
    secrets: [secret],
    port: 0,
    onEvent: () => {},
  });
  const { client, url } = server;
  const over = new HttpClient({ url, apiKey: key });
  const deliver = async (mail: Mail) => {
    const response = await fetch(`${url}/webhooks/post`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-person": person },
      body: JSON.stringify(mail),
    });
    expect(response.status).toBe(200);
  };

  await deliver({ kind: "start", id: "v1", name: person });
  const first = await client.runById(visit, "v1");
  await expect.poll(async () => (await client.list({ workflow: "greet" })).runs[0]?.status).toBe("waiting");
  const child = (await client.list({ workflow: "greet" })).runs[0]?.runId ?? "";
  const response = await fetch(`${url}/v1/runs/${child}/callbacks/read`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const token =
    String((await response.json()).url)
      .split("/")
      .at(-1) ?? "";
  await client.resolveCallback(token, { name: person }, { contract: greet });
  await first.pause({ by: person, reason: `${person} is away` });
  await first.resume();
  await deliver({ kind: "signal", id: "v1", name: person });
  await client.waitForEnd(first.runId, { wait: "20s" });
  await deliver({ kind: "signal", id: "v2", name: `${person} again` });
  await client.start(visit, { name: person }, { id: "v2", tags, delay: "1 day" });
  const { runId: live } = await client.start(visit, { name: person }, { tags });
  await expect.poll(async () => (await client.get(live)).status).toBe("waiting");
  await client.start(visit, { name: "Charles Babbage" }, { id: "b1", tags: { customer: "43" }, delay: "1 day" });
  expect(await tablesWith(person)).toEqual(
    expect.arrayContaining([
      "attempt",
      "callback",
      "delivery",
      "kept_signal",
      "operation",
      "record",
      "run",
      "run_state",
      "signal",
    ]),
  );

  const told = await over.deleteRuns({ tags }, { cancels: true, by: "carl", reason: "a request of customer 42" });
  expect(told.outcomes).toMatchObject({ deleted: 3 });
  const rest = async () => {
    await over.deleteRuns({ tags }, { cancels: true, by: "carl", callId: told.callId });
    return (await client.list({ tags })).runs.length;
  };
  await expect.poll(rest).toBe(0);
  expect(await tablesWith(person)).toEqual([]);
  expect(await tablesWith("Charles Babbage")).toEqual(["run"]);
  const { rows } = await database.pool.query("select outcome from layover.delivery order by received_at");
  expect(rows).toEqual([{ outcome: "done" }, { outcome: "done" }, { outcome: "done" }]);
});
