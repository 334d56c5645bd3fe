/** Where the figures come from. Without it they say nothing. */

import { arch, cpus, loadavg, release, totalmem, type } from "node:os";
import type { Client } from "pg";
import { POSTGRES_SETTINGS } from "./meter.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  /** Runnable processes on average over the minute before. More than about 0.3: not a quiet machine. */
  readonly loadBefore: number;
  readonly node: string;
  readonly postgres: string;
  readonly settings: Readonly<Record<string, string>>;
}

export async function describeMachine(admin: Client): Promise<Machine> {
  const names = [...Object.keys(POSTGRES_SETTINGS), "data_checksums", "wal_compression", "wal_sync_method"];
  const version = await admin.query<{ version: string }>("select version()");
  const settings = await admin.query<{ name: string; setting: string }>(
    "select name, current_setting(name) as setting from pg_settings where name = any ($1) order by name",
    [names],
  );
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
    loadBefore: loadavg()[0] ?? 0,
    node: process.version,
    postgres: version.rows[0]?.version ?? "unknown",
    settings: Object.fromEntries(settings.rows.map(({ name, setting }) => [name, setting])),
  };
}
