/** What a database has of layover's schema, and what that means to this version of the code. Decides, changes nothing. */
import type { Row } from "../core/ports.ts";
import { SetupError } from "./setup-error.ts";
import type { Migration, Schema, SqlFunction } from "./sql-files.ts";

export interface State {
  readonly migrations: readonly Omit<Migration, "sql">[];
  readonly functions: { readonly version: string; readonly checksum: string } | undefined;
}

export const nothing: State = { migrations: [], functions: undefined };

/** Takes a Query as well as a Script. */
export async function readState(send: (text: string) => Promise<readonly Row[]>): Promise<State> {
  const migrations = await send("select number, name, checksum, is_breaking from layover.migration order by number");
  const [functions] = await send("select version, checksum from layover.function_set");
  return {
    migrations: migrations.map((row) => ({
      number: Number(row["number"]),
      name: String(row["name"]),
      checksum: String(row["checksum"]),
      isBreaking: row["is_breaking"] === true,
    })),
    functions: functions && { version: String(functions["version"]), checksum: String(functions["checksum"]) },
  };
}

export function pendingMigrations(state: State, schema: Schema): readonly Migration[] {
  return schema.migrations.filter(({ number }) => !state.migrations.some((known) => known.number === number));
}

export function* conflicts(state: State, schema: Schema): Generator<SetupError> {
  for (const known of state.migrations) {
    const ours = schema.migrations.find(({ number }) => number === known.number);
    if (!ours && known.isBreaking) {
      yield new SetupError(
        "newer_database",
        `This database has the migration ${known.name}, after which layover ${schema.version} does not work.`,
        { hint: "Deploy the newer code that brought it; a database never goes back." },
      );
    }
    if (ours && ours.checksum !== known.checksum) {
      yield new SetupError(
        "edited_migration",
        `The migration ${ours.name} is not the one that this database was given.`,
        {
          hint: "What was applied never changes: restore the file, and put the change into a migration of its own.",
        },
      );
    }
  }
}

export function areFunctionsDue(state: State, schema: Schema): boolean {
  return functionsToWrite(state, schema).length > 0 && state.functions?.checksum !== schema.functionsChecksum;
}

/**
 * The functions to write. None if newer code has migrated the database: its functions serve this code too, while a
 * deploy goes on.
 */
function functionsToWrite(state: State, schema: Schema): readonly SqlFunction[] {
  const isAhead = state.migrations.some(({ number }) => number > schema.migrations.length);
  const isNewer = state.functions !== undefined && isOlder(schema.version, state.functions.version);
  return isAhead || isNewer ? [] : schema.functions;
}

/** Whether a version is older, by semantic versioning. A pre-release comes before its release. */
function isOlder(version: string, than: string): boolean {
  const [ours, theirs] = [version, than].map((text) => text.split("+")[0]?.split("-") ?? []);
  const [[release = "", ...preRelease], [otherRelease = "", ...otherPreRelease]] = [ours ?? [], theirs ?? []];
  const byRelease = compareNumbers(release, otherRelease);
  if (byRelease !== 0) return byRelease < 0;
  if (preRelease.length === 0 || otherPreRelease.length === 0) return preRelease.length > otherPreRelease.length;
  return compareNumbers(preRelease.join("-"), otherPreRelease.join("-")) < 0;
}

function compareNumbers(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
