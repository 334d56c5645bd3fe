import type { Pool } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { decode } from "../../src/core/codec/codec.ts";
import { Outside } from "./outside.ts";
import { Site } from "./site.ts";
import { Watcher } from "./watcher.ts";

/** A lease that is lost on a busy machine is noticed within two minutes. */
const patience = { timeout: 180_000 };
let site: Site | undefined;
let watcher: Watcher | undefined;
let letGo = () => {};

/** A key of Postgres' advisory locks that layover does not use. */
const lock = 1;

/** Keeps the bodies of a path in their middle, until the function that this answers is called. */
async function holdBodies(pool: Pool, path: string): Promise<() => void> {
  await pool.query(`
    create function chaos.hold() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${lock});
      return new;
    end $$;
    create trigger hold before insert on chaos.effect for each row when (new.path = '${path}')
      execute function chaos.hold()`);
  const holder = await pool.connect();
  await holder.query("select pg_advisory_lock($1)", [lock]);
  let isHeld = true;
  return () => {
    if (isHeld) holder.release(true); // the lock ends with its connection
    isHeld = false;
  };
}

afterEach(async () => {
  letGo();
  watcher?.close();
  await site?.close();
});

describe("a process that was frozen for longer than its lease changes nothing when it finishes", () => {
  test.each([
    ["a step", "first"],
    ["a branch", "ship[0]/pack"],
  ] as const)("%s that another one is at by then", { timeout: 600_000 }, async (_, slow) => {
    site = await Site.open({ version: 18, leaseMs: 5_000, berths: 2 });
    const [frozen, other] = site.berths;
    if (!frozen || !other) throw new Error("there are two");
    const { pool, apiKey } = site;
    const watching = new Watcher(pool);
    watcher = watching;
    let url = frozen.url;
    const outside = new Outside({ apiKey, anyUrl: () => url, random: () => 0 });
    const errand = { ...outside.makeUp(1), slow };
    const { runId } = errand;
    const rows = async (query: string, values: readonly string[]) => (await pool.query(query, [...values])).rows;
    const bodies = () =>
      rows("select pid, value from chaos.effect where run_id = $1 and path = $2 order by number", [runId, slow]);
    const leases = () =>
      rows(
        `select from layover.run_state where run_id = $1 and leased_until > now() union all
         select from layover.pending where run_id = $1 and leased_until > now()`,
        [runId],
      );
    const heldBodies = () =>
      rows(`select from pg_locks where objid = ${lock} and classid = 0 and objsubid = 1 and not granted`, []);
    letGo = await holdBodies(pool, slow);

    watching.follow(runId);
    void watching.watch();
    const seen = outside.see(errand, async () => (await watching.until(runId, ({ token }) => token !== null)).token);
    await expect.poll(heldBodies, patience).toHaveLength(1);
    const frozenPid = frozen.pid;
    frozen.stop(); // in the middle of the body
    letGo();
    await expect.poll(bodies, patience).toHaveLength(1);
    url = other.url;
    await expect.poll(leases, patience).toEqual([]);
    await other.replace(); // whoever begins looks at all that is ready
    await expect.poll(bodies, patience).toHaveLength(2);
    frozen.goOn();
    await frozen.end("SIGTERM"); // resolves when its finish was answered
    await seen;
    const { records } = await watching.until(runId, ({ records }) => records.some(({ path }) => path === "last"));

    const [lost, kept] = await bodies();
    expect([lost.pid, kept.pid]).toEqual([frozenPid, other.pid]);
    const recorded = records.filter(({ path }) => path === slow).map(({ value }) => decode(value ?? ""));
    expect(recorded).toEqual([kept.value]);
    expect(watching.violations).toEqual([]);
  });
});
