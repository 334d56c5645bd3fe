/**
 * Whether this code works with a database. It compares the numbers of the migrations and the release of the functions.
 * A deployment checks nothing more than that.
 */
import { LayoverError } from "../core/errors.ts";

/**
 * The number of the last file in `migrations/`. A bundle does not have these files. `UPDATE_SCHEMA=1 npm test --
 * schema` writes it.
 */
export const newestMigration = 38;

/** The version of this package. `UPDATE_SCHEMA=1 npm test -- schema` writes it, too. */
export const ownRelease = "0.1.0";

/** What `read_clock` answers about the schema. */
export interface KnownSchema {
  /** The last migration that was applied. Undefined: the functions are of a release that did not tell. */
  readonly migration?: number | undefined;
  /** The last migration that broke older code. */
  readonly breaking?: number | null | undefined;
  /**
   * The release of the functions. Null: none, as migrate has not ended. Undefined: the functions are of a release that
   * did not tell.
   */
  readonly functions?: string | null | undefined;
}

/**
 * Refuses a database whose migrations are too old for this code, or too new for it to work with.
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
    `this database has migration ${breaking}, with which this version of layover does not work`,
    { hint: "Deploy the version of layover that has this migration.", details: { needed: newestMigration } },
  );
}

/** Makes the warning for a database whose tables are right, but whose functions are of another release. */
export function otherFunctions({ functions }: KnownSchema): LayoverError | undefined {
  if (functions === ownRelease) return undefined;
  const theirs =
    functions === undefined ? "an older release" : functions === null ? "no whole release" : `release ${functions}`;
  return new LayoverError(
    "wrong_schema",
    `this code is layover ${ownRelease}, and the functions in the database are of ${theirs}`,
    {
      hint: "During a deploy this is normal. Otherwise run `npx layover migrate` of the newer release, and deploy that one everywhere.",
      details: { needed: ownRelease },
    },
  );
}
