/**
 * All that a campaign needs, in place: a Postgres that keeps what it was told (fsync), can be ended and started again;
 * processes that serve it, some directly and some by way of a pooler, all of them through a network that breaks.
 */
import { randomBytes } from "node:crypto";
import { chownSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { type PostgresVersion, unprivileged } from "../postgres/binaries.ts";
import { freshDatabase } from "../postgres/fresh-database.ts";
import { type PostgresServer, startPostgres } from "../postgres/server.ts";
import { Cutter } from "./cutter.ts";
import { makeEffectsTable } from "./effects.ts";
import { Berth } from "./fleet.ts";
import { Pooler } from "./pooler.ts";
import { quietPort } from "./ports.ts";
import { logSchedules } from "./schedule-log.ts";

export interface SiteOptions {
  readonly version: PostgresVersion;
  readonly leaseMs: number;
  /** How many processes there are. Every other one connects through the pooler. */
  readonly berths: number;
  /** Whether the processes wake each other. Otherwise somebody outside has to. */
  readonly hasDoors?: boolean | undefined;
  /** A folder for the tables, on a small file system. Default: beside all others. */
  readonly smallDisk?: string | undefined;
}

/** Moves the tables that each step writes to onto the small disk. */
async function moveTables(pool: Pool, disk: string): Promise<void> {
  const folder = mkdtempSync(join(disk, "tables-"));
  const { uid, gid } = unprivileged();
  if (uid !== undefined && gid !== undefined) for (const each of [disk, folder]) chownSync(each, uid, gid);
  await pool.query(`create tablespace small location '${folder}'`);
  for (const table of ["record", "pending"]) await pool.query(`alter table layover.${table} set tablespace small`);
}

export class Site {
  readonly postgres: PostgresServer;
  readonly pooler: Pooler;
  /** The cutter before Postgres, and the one before the pooler. */
  readonly cutters: readonly Cutter[];
  readonly berths: readonly Berth[];
  /** The campaign's own connections, which lead past all that breaks and show what is there. */
  readonly pool: Pool;
  readonly apiKey: string;

  private constructor(parts: Pick<Site, "postgres" | "pooler" | "cutters" | "berths" | "pool" | "apiKey">) {
    this.postgres = parts.postgres;
    this.pooler = parts.pooler;
    this.cutters = parts.cutters;
    this.berths = parts.berths;
    this.pool = parts.pool;
    this.apiKey = parts.apiKey;
  }

  static async open({ version, leaseMs, berths: count, hasDoors = false, smallDisk }: SiteOptions): Promise<Site> {
    const settings = { fsync: "on", full_page_writes: "on" };
    const postgres = await startPostgres({ version, settings, port: await quietPort() });
    try {
      const { url } = await freshDatabase(postgres.url);
      const pool = new Pool({ connectionString: url, max: 4 });
      pool.on("error", () => {});
      await makeEffectsTable(pool);
      await logSchedules(pool);
      if (smallDisk !== undefined) await moveTables(pool, smallDisk);
      const pooler = await Pooler.open({ to: url });
      const toPostgres = await Cutter.open({ to: url });
      const toPooler = await Cutter.open({ to: pooler.url });
      const secret = randomBytes(32).toString("hex");
      const apiKey = createApiKey(new Secrets([secret]), { name: "chaos", namespace: "default", scopes });
      const berths: Berth[] = [];
      for (let number = 0; number < count; number += 1) {
        const isPooled = number % 2 === 1;
        const databaseUrl = (isPooled ? toPooler : toPostgres).url;
        berths.push(await Berth.open({ databaseUrl, effectsUrl: url, isPooled, secret, leaseMs, hasDoor: hasDoors }));
      }
      await Promise.all(berths.map((berth) => berth.start()));
      return new Site({ postgres, pooler, cutters: [toPostgres, toPooler], berths, pool, apiKey });
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** Ends Postgres for a while. `stop` is an operator's fast stop, which tells everybody. `crash` ends it at once. */
  async interruptPostgres(how: "stop" | "crash", forMs: number): Promise<void> {
    await this.postgres.kill(how === "stop" ? "SIGINT" : "SIGQUIT");
    await delay(forMs);
    await this.postgres.restart();
  }

  /** Ends the processes; what they have under way ends first. */
  async endProcesses(): Promise<void> {
    await Promise.all(this.berths.map((berth) => berth.end("SIGTERM")));
  }

  /** How often each complaint stands in the output of the processes that have ended, without ids and times. */
  get complaints(): ReadonlyMap<string, number> {
    const complaints = new Map<string, number>();
    for (const line of this.berths.flatMap(({ said }) => said.join("\n").split("\n"))) {
      if (!/error while|unhandled|Error:/.test(line)) continue;
      const kind = line.replace(/^\S+Z /, "").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "…");
      complaints.set(kind, (complaints.get(kind) ?? 0) + 1);
    }
    return complaints;
  }

  /** How often each body was begun, by run and path, as told by the output of the processes that have ended. */
  get begun(): ReadonlyMap<string, Readonly<Record<string, number>>> {
    const begun = new Map<string, Record<string, number>>();
    const said = this.berths.flatMap((berth) => berth.said).join("\n");
    for (const [, runId = "", path = ""] of said.matchAll(/^begins (\S+) (.+)$/gm)) {
      const bodies = begun.get(runId) ?? {};
      bodies[path] = (bodies[path] ?? 0) + 1;
      begun.set(runId, bodies);
    }
    return begun;
  }

  /** Ends everything at once, and leaves nothing behind. */
  async close(): Promise<void> {
    await Promise.all(this.berths.map((berth) => berth.end("SIGKILL")));
    this.pooler.close();
    for (const cutter of this.cutters) cutter.close();
    void this.pool.end();
    await this.postgres.stop();
  }
}
