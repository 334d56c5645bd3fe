import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { checkSchema, migrate, SetupError } from "../../src/postgres/migrate.ts";
import { pg } from "../../src/postgres/pg.ts";
import { postgresUrl } from "./database.ts";

test.each(["LATIN1", "SQL_ASCII"])(
  "a database whose texts are in %s is refused, in words that say why",
  async (encoding) => {
    const client = await aDatabase(encoding);
    const refusal = await migrate(client).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SetupError);
    expect(refusal).toMatchObject({ code: "wrong_encoding", hint: expect.stringContaining("encoding 'UTF8'") });
    expect(String(refusal)).toContain(`holds its texts in ${encoding}, not in UTF8`);
    const { isUsable, problems } = await checkSchema(pg(client));
    expect(isUsable).toBe(false);
    expect(problems).toEqual([expect.stringContaining(`holds its texts in ${encoding}, not in UTF8`)]);
    expect((await client.query("select from pg_namespace where nspname = 'layover'")).rowCount).toBe(0);
  },
);

async function aDatabase(encoding: string): Promise<Client> {
  const serverUrl = await postgresUrl(inject("postgres").versions.at(-1) ?? "18");
  const name = `layover_test_${randomBytes(8).toString("hex")}`;
  const server = new Client(serverUrl);
  await server.connect();
  await server.query(`create database ${name} template template0 encoding '${encoding}' locale 'C'`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const client = new Client(url.href);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await server.query(`drop database ${name} with (force)`);
    await server.end();
  });
  return client;
}
