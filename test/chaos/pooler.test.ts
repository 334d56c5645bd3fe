import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../postgres/server.ts";
import { Pooler } from "./pooler.ts";
import { quietPort } from "./ports.ts";

describe("a pooler in transaction mode with one connection", () => {
  let server: PostgresServer;
  let pooler: Pooler;
  let clients: readonly Client[];

  const aClient = async () => {
    const client = new Client(pooler.url);
    client.on("error", () => {});
    await client.connect();
    return client;
  };
  const nameOf = async (client: Client) => (await client.query("show application_name")).rows[0]?.application_name;

  beforeAll(async () => {
    server = await startPostgres({ version: 18, port: await quietPort() });
  });
  afterAll(async () => await server.stop());
  beforeEach(async () => {
    pooler = await Pooler.open({ to: server.url, size: 1 });
    clients = [await aClient(), await aClient()];
  });
  afterEach(() => pooler.close());

  test("lends it from statement to statement, so that a session keeps nothing of one's own", async () => {
    const [one, other] = clients;
    if (!one || !other) throw new Error("there are two");
    await one.query("set application_name = 'one'");
    expect(await nameOf(other)).toBe("one");
    expect(pooler.handovers).toBe(2);
  });

  test("lends it for a whole transaction", async () => {
    const [one, other] = clients;
    if (!one || !other) throw new Error("there are two");
    const order: string[] = [];
    await one.query("begin");
    const waiting = other.query("select $1::text", ["other"]).then(() => order.push("other"));
    await one.query("select $1::text", ["one"]);
    order.push("one");
    await one.query("commit");
    await waiting;
    expect(order).toEqual(["one", "other"]);
  });

  test("gives up a transaction whose client is gone", async () => {
    const [one, other] = clients;
    if (!one || !other) throw new Error("there are two");
    await one.query("begin");
    await one.query("create table unfinished ()");
    await one.end();
    const { rows } = await other.query("select to_regclass('unfinished') as found");
    expect(rows).toEqual([{ found: null }]);
  });

  test("is there again when the server is", async () => {
    const [one] = clients;
    await one?.query("select 1");
    await server.kill("SIGQUIT");
    await server.restart();
    const another = await aClient();
    expect((await another.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});
