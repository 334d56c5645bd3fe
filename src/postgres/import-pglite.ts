/** PGlite is an optional peer: who has not installed it is told how. */
import { SetupError } from "./setup-error.ts";

export async function importPglite(): Promise<typeof import("@electric-sql/pglite")> {
  try {
    return await import("@electric-sql/pglite");
  } catch (error) {
    throw new SetupError("package_missing", "The embedded Postgres needs the package @electric-sql/pglite.", {
      hint: "Run: npm install @electric-sql/pglite",
      cause: error,
    });
  }
}
