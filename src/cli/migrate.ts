/** `layover migrate`: brings the database of DATABASE_URL to what this version of layover needs. */
import { Command, Option } from "commander";
import { migrate as bringUp, checkSchema, migrationSql } from "../postgres/migrate.ts";
import { type Database, databaseUrl, shownAddress, withDatabase } from "./database.ts";
import { print, printJson } from "./screen.ts";
import { UsageError } from "./usage-error.ts";

interface Options {
  readonly sql?: true;
  readonly check?: true;
  readonly json?: true;
}

export const migrate = new Command("migrate")
  .summary("brings your database up to date")
  .description(
    "Brings the database of DATABASE_URL to what this version of layover needs: all of it or nothing, any number of times.",
  )
  .addOption(new Option("--sql", "print the SQL instead, for whoever runs it by hand").conflicts(["check", "json"]))
  .option("--check", "change nothing, and fail if something is to be done (before a deployment)")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExamples:\n  layover migrate\n  layover migrate --sql > layover.sql")
  .action(async ({ sql, check, json }: Options) => {
    if (sql) process.stdout.write(migrationSql());
    else await withDatabase((database) => (check ? checked(database, json) : migrated(database, json)));
  });

async function migrated({ client }: Database, json = false): Promise<void> {
  const done = await bringUp(client);
  if (json) return printJson(done);
  const { applied, functions } = done;
  const what = [...applied, ...(functions > 0 ? [`${functions} functions`] : [])].join(", ");
  const where = shownAddress(databaseUrl());
  print(what === "" ? `${where} is up to date.` : `${where} has now ${what}.`);
}

async function checked({ query }: Database, json = false): Promise<void> {
  const found = await checkSchema(query);
  const where = shownAddress(databaseUrl());
  if (json) printJson(found);
  else if (found.isUsable) print(`${where} is as this version of layover needs it.`);
  if (found.isUsable) return;
  if (json) process.exitCode = 1;
  else
    throw new UsageError(`${where} is not as this version of layover needs it.`, { hint: found.problems.join("\n") });
}
