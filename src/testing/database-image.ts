/**
 * A prepared data folder for the test kit. Making a Postgres in WebAssembly takes seconds, and loading one that was
 * made before takes a fraction of that. So the first process on a machine keeps what it made in a file, and all others
 * begin with that file.
 *
 * The file lies in `node_modules/.cache/layover`, or among the temporary files if there is no `node_modules`. Its name
 * depends on the version of PGlite and on the state of layover's SQL. It is written under another name first. So a
 * process that is killed leaves no half of a file, and many may write at the same time.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { PGlite } from "@electric-sql/pglite";
import { importPglite } from "../postgres/import-pglite.ts";
import { migrate } from "../postgres/migrate.ts";
import { readSchema } from "../postgres/sql-files.ts";
import { letProcessEnd } from "./let-process-end.ts";

const suffix = ".tar.gz";
const draftSuffix = ".draft";
/** The age from which a half-written file is removed. Nobody takes an hour to write a file. */
const abandonedAfterMs = 3_600_000;
const outdatedAfterMs = 7 * 86_400_000;

export interface ImageOptions {
  /** The folder of the file. Default: as the first lines of this file say. */
  readonly folder?: string;
}

/** Opens a migrated Postgres for this process alone. @throws SetupError `package_missing` */
export async function openPrepared({ folder = cacheFolder() }: ImageOptions = {}): Promise<PGlite> {
  const { PGlite } = await importPglite();
  const file = join(folder, `${imageName()}${suffix}`);
  const image = await read(file);
  if (image !== undefined) {
    try {
      return unheld(await PGlite.create({ loadDataDir: image }));
    } catch {
      discard(file); // a damaged file is removed, so that the next one is whole
    }
  }
  const database = unheld(await PGlite.create());
  await migrate(database);
  await keep(database, file);
  return database;
}

function unheld(database: PGlite): PGlite {
  letProcessEnd(database);
  return database;
}

async function read(file: string): Promise<Blob | undefined> {
  try {
    return new Blob([await promisify(gunzip)(readFileSync(file))]);
  } catch {
    return undefined; // nobody has made the file yet, or it is damaged
  }
}

/** Keeps the database in the file. A folder that cannot be written into costs time, and is no error. */
async function keep(database: PGlite, file: string): Promise<void> {
  const draft = `${file}.${randomUUID()}${draftSuffix}`;
  try {
    await leaveOutTemplates(database);
    const image = await database.dumpDataDir("none");
    const packed = await promisify(gzip)(await image.arrayBuffer(), { level: 1 });
    mkdirSync(dirname(file), { recursive: true });
    removeOld(dirname(file));
    writeFileSync(draft, packed);
    renameSync(draft, file);
  } catch {
    discard(draft);
  }
}

function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The file cannot be removed, or is not there. Whoever writes the next one replaces it.
  }
}

/** Leaves out the template databases: nobody makes a database here, and they are two thirds of the files. */
async function leaveOutTemplates(database: PGlite): Promise<void> {
  await database.exec("update pg_database set datistemplate = false");
  for (const name of ["template0", "template1"]) await database.exec(`drop database if exists ${name}`);
  await database.exec("checkpoint");
}

/** Removes old images of other versions, and files that a killed process had begun to write. */
function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const mostMs = name.endsWith(draftSuffix) ? abandonedAfterMs : outdatedAfterMs;
    if (Date.now() - statSync(path).mtimeMs > mostMs) rmSync(path, { force: true });
  }
}

function imageName(): string {
  const { migrations, functionsChecksum } = readSchema();
  const parts = [pgliteVersion(), functionsChecksum, ...migrations.map(({ checksum }) => checksum)];
  return `postgres-${createHash("sha256").update(parts.join()).digest("hex").slice(0, 16)}`;
}

function pgliteVersion(): string {
  const { resolve } = createRequire(import.meta.url);
  const file = join(dirname(resolve("@electric-sql/pglite")), "..", "package.json");
  const { version } = JSON.parse(readFileSync(file, "utf8"));
  return String(version);
}

/** The nearest `node_modules` of the project whose tests run. */
function cacheFolder(): string {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    if (existsSync(modules)) return join(modules, ".cache", "layover");
    if (folder === dirname(folder)) return join(tmpdir(), "layover-cache");
  }
}
