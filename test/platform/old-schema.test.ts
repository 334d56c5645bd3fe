/** Code that meets a database of another release says so at once, and serves as soon as that is put right. */
import { expect, onTestFinished, test } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import type { LayoverEvent } from "../../src/engine/events.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import { newestMigration } from "../../src/postgres/schema-fit.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase({ isOwn: true });
const ping = workflow({ name: "ping", version: 1 });
const pingWorkflow = ping.handler(({ step }) => step.run("ping", () => {}));

async function start(onEvent?: (event: LayoverEvent) => void) {
  const process = await startInProcess({ workflows: [pingWorkflow], database: database.query, onEvent });
  onTestFinished(async () => await process.close());
  return process;
}

test("a process refuses to begin on a schema older than its code, and begins once that is migrated", async () => {
  await database.query("update layover.migration set number = -number where number = $1", [newestMigration]);
  await expect(start()).rejects.toMatchObject({
    code: "wrong_schema",
    message:
      `this database was migrated up to migration ${newestMigration - 1}, ` +
      `and this version of layover needs migration ${newestMigration} and its functions`,
    hint: "Migrate before you deploy: `npx layover migrate`.",
  });
  await database.query("update layover.migration set number = -number where number < 0");
  const { client } = await start();
  await (await client.start(ping)).result({ wait: "20s" });
});

test("a process refuses functions of a release that did not tell what it migrated", async () => {
  await database.pool.query(`create or replace function layover.read_clock() returns json
    language sql volatile as $$ select json_build_object('now', layover.to_ms(layover.now())) $$`);
  await expect(start()).rejects.toMatchObject({
    code: "wrong_schema",
    message: expect.stringContaining("this database was migrated by an older release"),
  });
});

test("a process serves on a newer schema, unless that is one which older code does not survive", async () => {
  const next = newestMigration + 1;
  await database.query("insert into layover.migration values ($1, 'next', '', false, now())", [next]);
  const { client, close } = await start();
  await (await client.start(ping)).result({ wait: "20s" });
  await close();
  await database.query("update layover.migration set is_breaking = true where number = $1", [next]);
  await expect(start()).rejects.toMatchObject({
    code: "wrong_schema",
    message: `this database has migration ${next}, with which this version of layover does not work`,
  });
});

test.each([
  ["an older release", "version = '0.0.9'", "release 0.0.9"],
  ["a newer release", "version = '99.0.0'", "release 99.0.0"],
  ["no release, as a migrate was cut off", "checksum = ''", "no whole release"],
])("a process says once that the functions are of %s, and serves", async (_, assignment, theirs) => {
  await database.query(`update layover.function_set set ${assignment}`);
  const events: LayoverEvent[] = [];
  const { client } = await start((event) => events.push(event));
  for (let number = 0; number < 3; number += 1) await (await client.start(ping)).result({ wait: "20s" });
  expect(events.filter(({ kind }) => kind === "error")).toEqual([
    {
      kind: "error",
      code: "wrong_schema",
      doing: "asking the database what it is",
      error: expect.objectContaining({
        message: expect.stringContaining(`the functions in the database are of ${theirs}`),
      }),
    },
  ]);
});

test("a process says nothing of functions of its own release", async () => {
  const events: LayoverEvent[] = [];
  const { client } = await start((event) => events.push(event));
  await (await client.start(ping)).result({ wait: "20s" });
  expect(events.filter(({ kind }) => kind === "error")).toEqual([]);
});
