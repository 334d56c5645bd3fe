/** Where the tests' Postgres comes from: a server that somebody names, else Docker, else binaries on this machine. */
import type { PostgresVersion } from "./binaries.ts";
import { startPostgres } from "./server.ts";

export interface FoundPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** The versions that suites run on: the oldest and the newest that layover supports, or the one server that is named. */
export function versionsToTest(): readonly string[] {
  return process.env["TEST_DATABASE_URL"] ? ["TEST_DATABASE_URL"] : ["15", "18"];
}

export async function findPostgres(version: string): Promise<FoundPostgres> {
  const named = process.env["TEST_DATABASE_URL"];
  if (named) return { url: named, stop: async () => {} };
  const local = localVersions[version];
  if (local === undefined) throw new Error(`Tests run on PostgreSQL 15 and 18, not on ${version}.`);
  return (await inDocker(local)) ?? (await startPostgres({ version: local }));
}

const localVersions: Readonly<Record<string, PostgresVersion>> = { 15: 15, 18: 18 };

/** Answers nothing where Docker is not there, or has neither the image nor a way to get it. */
async function inDocker(version: PostgresVersion): Promise<FoundPostgres | undefined> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  try {
    await getContainerRuntimeClient();
    const { PostgreSqlContainer } = await import("@testcontainers/postgresql");
    const settings = ["fsync=off", "full_page_writes=off", "max_connections=200"].flatMap((setting) => ["-c", setting]);
    const container = await new PostgreSqlContainer(`postgres:${version}`)
      .withCommand(["postgres", ...settings])
      .start();
    return {
      url: container.getConnectionUri(),
      async stop() {
        await container.stop();
      },
    };
  } catch {
    return undefined;
  }
}
