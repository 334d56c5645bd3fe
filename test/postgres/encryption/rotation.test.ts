/** The old key of a rotation: which values it keeps, and that schedules outlive it. */
import { readFileSync } from "node:fs";
import { schedule, workflow } from "layover";
import { type EncryptionKeys, encrypted } from "layover/encryption";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { Unreadable } from "../../../src/client/unreadable.ts";
import { World } from "../../engine/world.ts";
import { testDatabase } from "../database.ts";
import { secrets, testKeys } from "./keys.ts";
import { tellStory } from "./story.ts";

const { k1, k2, sameness } = secrets;
const rotated: EncryptionKeys = { current: "k2", keys: { k1, k2 }, sameness };
const withoutOld: EncryptionKeys = { current: "k2", keys: { k2 }, sameness };

/** The statement of README.md that shows which keys are in use. */
const [, keysInUse = ""] = /```sql\n(.*?)```/s.exec(readFileSync("src/postgres/encryption/README.md", "utf8")) ?? [];

const sealedIn = (text: string) => `regexp_matches(${text}, '2sealed[.]([^.]+)[.]', 'g')`;

describe("the keys in use", () => {
  const database = testDatabase();

  test("the statement of README.md counts what is encrypted in every table", async () => {
    await tellStory(database, encrypted(database.query, testKeys), { keys: testKeys }, async () => {
      const { rows: tables } = await database.pool.query<{ readonly name: string }>(
        "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'layover'",
      );
      let count = 0;
      for (const { name } of tables) {
        const { rows } = await database.pool.query(`select from ${name} o, ${sealedIn("o::text")}`);
        count += rows.length;
      }
      expect((await database.pool.query(keysInUse)).rows).toEqual([{ key: "k1", count: String(count) }]);
    });
  });
});

describe("schedules of a rotation", () => {
  const database = testDatabase();

  test("get the new key for their inputs when they are declared or made anew, and fire when they would have", async () => {
    const report = workflow({ name: "report", version: 1, input: z.string() });
    const schedules = [schedule({ name: "hourly", cron: "0 * * * *", start: report, input: "a rose" })];
    const build = (id: string, keys: EncryptionKeys) => ({
      workflows: [report.handler(({ input }) => Promise.resolve(input))],
      schedules,
      keys,
      deployment: { name: "server", id },
    });
    const world = await World.begin(database, build("a", testKeys));
    await world.tick();
    const make = () =>
      world.ask((client) => client.schedules.create("made", report, { cron: "30 * * * *", input: "a daisy" }));
    await make();
    await world.pass("90 minutes");
    const look = async () => {
      const { rows } = await database.pool.query(
        `select name, next_at, due_at, fired, split_part(definition->>'encodedInput', '.', 2) as key
         from layover.schedule order by name`,
      );
      return rows;
    };
    const before = await look();
    expect(before).toMatchObject([{ key: "k1" }, { key: "k1" }]);

    await world.deploy(build("b", rotated));
    expect(await make()).toMatchObject({ outcome: "exists" });
    expect(await look()).toEqual(before.map((row) => ({ ...row, key: "k2" })));
    await world.deploy(build("c", withoutOld));
    await world.pass("70 minutes");
    // The newest come first. Those before the rotation were encrypted by the old key, and are listed all the same.
    const { runs } = await world.ask((client) => client.list());
    expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "completed"));
    const results = await Promise.all(
      runs.map(async ({ runId }) => (await world.ask((client) => client.get(runId)))?.result),
    );
    expect(results.slice(0, 2)).toEqual(["a daisy", "a rose"]);
    for (const result of results.slice(2)) expect(result).toBeInstanceOf(Unreadable);
  });
});
