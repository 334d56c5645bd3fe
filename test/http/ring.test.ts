/** How one deployment rings at another: it is verified before anything is done, and answered when the other one has ticked. */
import { expect, test } from "vitest";
import { Client } from "../../src/client/over-postgres/client.ts";
import { createApp } from "../../src/http/app.ts";
import { ringing, wakePath } from "../../src/http/ring.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { makeCalls } from "../../src/postgres/calls.ts";

const roots = ["o7vXHq1nX8bI3m5cQk2LZr9sWfT6yUeA0jPdGhNxVtE", "4mZ8qYc1TnB6wKf3RjX9sLhP7dVgUe2aOiCxMbNvQyS"];
const secrets = new Secrets([roots[0]]);

function deployment({ fails = false, namespace = "shop" } = {}) {
  const rung: unknown[] = [];
  const statements: string[] = [];
  const errors: unknown[] = [];
  const query = async (text: string) => {
    statements.push(text);
    return [];
  };
  const client = new Client({
    calls: makeCalls({ query: Object.assign(query, { endpoint: "db" }), namespace, alarm: async () => {} }),
    dispatch: async () => {},
    wake: async (readyUntil) => {
      rung.push(readyUntil);
      if (fails) throw new Error("the database is away");
    },
  });
  const onError = (error: unknown) => errors.push(error);
  const app = createApp({ client, contracts: [], secrets, namespace, onError });
  const send = async (url: string | URL | Request, init?: RequestInit) => await app.request(url, init);
  return { rung, statements, errors, send };
}

const at = "https://there.example";
const here = { secrets, namespace: "shop", host: Date };

test("it ticks until the instant that it is given", async () => {
  const { rung, send } = deployment();
  await ringing({ ...here, send })(at, 1_767_268_800_000);
  expect(rung).toEqual([1_767_268_800_000]);
});

test("a tick that fails is told, here and there", async () => {
  const { errors, send } = deployment({ fails: true });
  await expect(ringing({ ...here, send })(at, 1)).rejects.toMatchObject({ code: "unreachable" });
  expect(errors).toHaveLength(1);
});

test.each([
  ["another secret", { ...here, secrets: new Secrets([roots[1]]) }],
  ["another namespace", { ...here, namespace: "office" }],
  ["a clock that is ten minutes behind", { ...here, host: { now: () => Date.now() - 600_000 } }],
])("whoever has %s is refused, and nothing is done", async (_, terms) => {
  const { rung, statements, send } = deployment();
  await expect(ringing({ ...terms, send })(at, 1)).rejects.toMatchObject({ details: { status: 401 } });
  expect([rung, statements]).toEqual([[], []]);
});

test("what is signed for another route or changed on the way is refused", async () => {
  const { rung, send } = deployment();
  const body = JSON.stringify({ readyUntil: 1 });
  for (const headers of [undefined, { "layover-signature": "t=1,v1=x" }]) {
    const response = await send(`${at}${wakePath}`, { method: "POST", body, ...(headers && { headers }) });
    expect(response.status).toBe(401);
  }
  const changed: typeof fetch = async (url, init) => await send(String(url), { ...init, body: '{"readyUntil":2}' });
  await expect(ringing({ ...here, send: changed })(at, 1)).rejects.toMatchObject({ details: { status: 401 } });
  expect(rung).toEqual([]);
});
