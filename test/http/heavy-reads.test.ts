/** Lists and histories have a share of the database's connections, and no more. */
import { setImmediate as rest } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { newRooms } from "../../src/http/room.ts";
import { testDatabase } from "../postgres/database.ts";
import { aTurnedHost } from "./a-slow-body.ts";
import { anApp, authorized, json } from "./an-app.ts";

const database = testDatabase();

/** An app whose lists are answered by the database only when the test opens the gate. */
function aSlowList(rooms = newRooms()) {
  const gate = Promise.withResolvers<void>();
  const wrapQuery = (query: Query): Query =>
    Object.assign(
      async (...[text, parameters]: Parameters<Query>) => {
        if (text.includes("list_runs")) await gate.promise;
        return await query(text, parameters);
      },
      { endpoint: query.endpoint },
    );
  const { app, statements } = anApp(database.query, { rooms }, { wrapQuery });
  const lists = () => statements.filter((text) => text.includes("list_runs")).length;
  return { app, lists, open: () => gate.resolve() };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await rest();
}

it("answers three lists at once, and the others after them", async () => {
  const { app, lists, open } = aSlowList();
  await (await app.request("/v1/workflows/bare/runs", json({}))).json(); // the clock is asked
  const answers = Array.from({ length: 8 }, () => app.request("/v1/runs", { headers: authorized }));
  await settled();
  expect(lists()).toBe(3);
  expect((await app.request("/v1/workflows/bare/runs", json({}))).status).toBe(201);
  open();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(lists()).toBe(8);
});

it("does not ask the database for a client that has left the line", async () => {
  const { app, lists, open } = aSlowList();
  await app.request("/v1/workflows/bare/runs", json({}));
  const first = Array.from({ length: 3 }, () => app.request("/v1/runs", { headers: authorized }));
  const client = new AbortController();
  const left = app.request("/v1/runs", { headers: authorized, signal: client.signal });
  const last = app.request("/v1/runs", { headers: authorized });
  await settled();
  client.abort();
  await left;
  open();
  expect((await Promise.all([...first, last])).map(({ status }) => status)).toEqual(Array(4).fill(200));
  expect(lists()).toBe(4);
});

it("gives the place of a list to another one after a minute, since nobody may tell of its end", async () => {
  const { host, pass } = aTurnedHost();
  const { app, lists, open } = aSlowList(newRooms(host));
  await app.request("/v1/workflows/bare/runs", json({}));
  const answers = Array.from({ length: 4 }, () => app.request("/v1/runs", { headers: authorized }));
  await settled();
  pass(59_999);
  await settled();
  expect(lists()).toBe(3);
  pass(25);
  await settled();
  expect(lists()).toBe(4);
  open();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(4).fill(200));
});
