/**
 * Whether this code works on a database, by the numbers of its migrations and the release of its functions. What runs in
 * production asks this and no more.
 */
import { LayoverError } from "../core/errors.ts";

/** The number of the last file in `migrations/`, which a bundle does not have. `UPDATE_SCHEMA=1 npm test -- schema` writes it. */
export const newestMigration = 14;

/** The version of this package. `UPDATE_SCHEMA=1 npm test -- schema` writes it, too. */
export const ownRelease = "0.1.0";

/** What `read_clock` tells of the schema. */
export interface KnownSchema {
  /** The last migration that was applied. Undefined: the functions are of a release that did not tell. */
  readonly migration?: number | undefined;
  /** The last one that older code does not survive. */
  readonly breaking?: number | null | undefined;
  /** The release whose functions these are. Null: of none, as migrate has not ended. Undefined: of one that did not tell. */
  readonly functions?: string | null | undefined;
}

/**
 * Refuses a database that older code migrated, and one that newer code has migrated in a way that this code breaks on.
 *
 * @throws LayoverError `wrong_schema`
 */
export function checkFit({ migration, breaking }: KnownSchema): void {
  if (migration === undefined || migration < newestMigration) {
    const known = migration === undefined ? "by an older release" : `up to migration ${migration}`;
    throw new LayoverError(
      "wrong_schema",
      `this database was migrated ${known}, and this version of layover needs migration ${newestMigration} and its functions`,
      { hint: "Migrate before you deploy: `npx layover migrate`.", details: { needed: newestMigration } },
    );
  }
  if ((breaking ?? 0) <= newestMigration) return;
  throw new LayoverError(
    "wrong_schema",
    `this database has migration ${breaking}, after which this version of layover does not work`,
    { hint: "Deploy the newer version that brought it.", details: { needed: newestMigration } },
  );
}

/** What to tell somebody where the tables are right, but the functions are of another release. */
export function otherFunctions({ functions }: KnownSchema): LayoverError | undefined {
  if (functions === ownRelease) return undefined;
  const theirs =
    functions === undefined ? "an older release" : functions === null ? "no whole release" : `release ${functions}`;
  return new LayoverError(
    "wrong_schema",
    `this code is layover ${ownRelease}, and the functions in the database are of ${theirs}`,
    {
      hint: "During a deploy that is as it should be. Otherwise run `npx layover migrate` of the newer release, and deploy that one everywhere.",
      details: { needed: ownRelease },
    },
  );
}
