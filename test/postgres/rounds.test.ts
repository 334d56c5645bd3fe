/** The databases of a file of tests that runs once for each mutant: each round begins in an empty one, with its own function. */
import { Client } from "pg";
import { afterEach, expect, test } from "vitest";
import { postgresUrl } from "./database.ts";
import { freshDatabase } from "./fresh-database.ts";
import { beginRound, endRounds, placeInRound } from "./rounds.ts";
import { SharedDatabase } from "./shared-database.ts";

const counting = (sum: string) => `create or replace function layover.count_of(items jsonb) returns integer
  language sql immutable as 'select ${sum}'`;
const aDatabase = async () => new SharedDatabase(await freshDatabase(await postgresUrl("18")));
const aPause = `select layover.pause_workflow('{"namespace": "default", "workflow": "order"}')`;
const lookAt = async ({ pool }: SharedDatabase) =>
  (
    await pool.query(
      `select current_database() as name, layover.count_of('[]') as counted,
              (select count(*)::int from layover.workflow_pause) as pauses`,
    )
  ).rows[0];

afterEach(async () => {
  await endRounds();
  beginRound(undefined);
});

test("a suite finds its database again, empty and with the function of the round, and the other suites find theirs", async () => {
  beginRound(counting("1"));
  const [first, second] = [await aDatabase(), await aDatabase()];
  const names = [(await lookAt(first)).name, (await lookAt(second)).name];
  const places = [placeInRound(), placeInRound()];
  expect(await places[0]?.take()).toBeUndefined();
  await first.pool.query(aPause);
  expect([await places[0]?.leave(first), await places[1]?.leave(second)]).toEqual([true, true]);

  beginRound(counting("2"));
  const [again, other] = [await placeInRound()?.take(), await placeInRound()?.take()];
  expect([again, other]).toEqual([first, second]);
  expect(await lookAt(first)).toEqual({ name: names[0], counted: 2, pauses: 0 });
  expect(await lookAt(second)).toMatchObject({ name: names[1], counted: 2 });
  expect([await placeInRound()?.take()]).toEqual([undefined]);
  for (const database of [first, second]) await database.drop();
});

test("a database is left to no next round where a test altered more than rows, or the clock is not as the first test found it", async () => {
  beginRound(counting("1"));
  const place = placeInRound();
  const altered = await aDatabase();
  await altered.pool.query("alter table layover.tag add column more text");
  expect(await place?.leave(altered)).toBe(false);
  const turned = await aDatabase();
  turned.checkClock();
  await turned.turnClock();
  expect(await place?.leave(turned)).toBe(false);
  for (const database of [altered, turned]) await database.drop();
});

test("what was left and is not wanted any more is dropped", async () => {
  beginRound(counting("1"));
  const database = await aDatabase();
  const client = new Client(database.url);
  expect(await placeInRound()?.leave(database)).toBe(true);
  await endRounds();
  await expect(client.connect()).rejects.toThrow("does not exist");
});

test("a file that runs once has no rounds", () => {
  expect(placeInRound()).toBeUndefined();
});
