/** The databases that a Node process is hosted on: an embedded Postgres, and a real one. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import type { Query } from "../../src/core/ports.ts";
import { type Embedded, openEmbedded } from "../../src/postgres/embedded.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { testDatabase } from "../postgres/database.ts";

/** Two seconds of two cores; many times that where they have other things to do. */
const makingMs = 60_000;

/** A data folder, made and migrated before. The first start takes two seconds, a copy a quarter of one. */
export function madeFolder(): { copyTo(folder: string): void } {
  let made = "";
  beforeAll(async () => {
    made = mkdtempSync(join(tmpdir(), "layover-made-"));
    const embedded = await openEmbedded(made);
    await migrate(embedded.database);
    await embedded.close();
  }, makingMs);
  afterAll(() => {
    rmSync(made, { recursive: true, force: true });
  });
  return { copyTo: (folder) => cpSync(made, folder, { recursive: true }) };
}

/** Runs a suite on both, each with a migrated database that all its tests share. */
export function describeEachDatabase(name: string, suite: (database: () => Query) => void): void {
  describe(`${name} on an embedded Postgres`, () => {
    let embedded: Embedded | undefined;
    let folder = "";
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "layover-embedded-"));
      embedded = await openEmbedded(folder);
      await migrate(embedded.database);
    }, makingMs);
    afterAll(async () => {
      await embedded?.close();
      rmSync(folder, { recursive: true, force: true });
    });
    suite(() => {
      if (embedded === undefined) throw new Error("the database is open within tests and hooks only");
      return embedded.query;
    });
  });

  describe(`${name} on a real Postgres`, () => {
    const database = testDatabase();
    suite(() => database.query);
  });
}
