/** Runs tests in a tree of which one file is another one, and puts the file back. */
import { pathToFileURL } from "node:url";
import { migrationSql, recordFunctions } from "../../src/postgres/migration-sql.ts";
import { readSchema } from "../../src/postgres/sql-files.ts";
import { onServer, templateName } from "../postgres/fresh-database.ts";
import type { Mutant } from "./sql-mutants.ts";
import type { Tests } from "./tests.ts";
import type { Verdict } from "./verdict.ts";
import type { Ended, Workbench } from "./workbench.ts";

export interface Workplace {
  readonly workbench: Workbench;
  readonly serverUrl: string;
  readonly tests: Tests;
}

/** A mutant may wait for ever. On an idle machine, no suite takes longer than a minute. */
const longestMs = 300_000;
const vitest =
  "node_modules/vitest/vitest.mjs run --config test/vitest.config.ts --bail 1 --maxWorkers 1 --no-cache --no-isolate";

/** SQL is read when a test runs, so one runner serves all of its mutants. TypeScript is loaded by a runner of its own. */
export function byVitest(mutant: Mutant, filters: readonly string[], workplace: Workplace): Promise<Verdict> {
  return isOfSql(mutant) ? bySql(mutant, filters, workplace) : byEngine(mutant, filters, workplace);
}

function bySql(mutant: Mutant, filters: readonly string[], workplace: Workplace): Promise<Verdict> {
  return inMutatedTree(mutant, workplace, async () => {
    try {
      await makeTemplate(mutant, workplace);
    } catch (error) {
      return { kind: "invalid", why: String(error) };
    }
    const failure = await workplace.tests.run(filters, longestMs);
    if (failure === undefined) return { kind: "survived" };
    return failure === "hung" ? { kind: "hung" } : { kind: "killed", why: failure.why, test: failure.file };
  });
}

function byEngine(mutant: Mutant, filters: readonly string[], workplace: Workplace): Promise<Verdict> {
  const { workbench, serverUrl } = workplace;
  const args = [...vitest.split(" "), "--reporter=verbose", "--passWithNoTests", ...filters];
  return inMutatedTree(mutant, workplace, async () =>
    verdictOf(await workbench.node(args, { TEST_DATABASE_URL: serverUrl, TEST_SIZE: "whole" }, longestMs)),
  );
}

/** A program that exits with 1 where it found something. */
export function byProgram(mutant: Mutant, program: readonly string[], workplace: Workplace): Promise<Verdict> {
  const args = ["--conditions=layover-source", ...program, "--database", workplace.serverUrl];
  return inMutatedTree(mutant, workplace, async () => verdictOf(await workplace.workbench.node(args, {}, longestMs)));
}

async function inMutatedTree(mutant: Mutant, workplace: Workplace, act: () => Promise<Verdict>): Promise<Verdict> {
  const { workbench } = workplace;
  workbench.write(mutant.file, mutant.mutated);
  try {
    return await act();
  } finally {
    if (isOfSql(mutant)) await dropTemplate(workplace);
    workbench.putBack(mutant.file);
  }
}

function isOfSql({ file }: Mutant): boolean {
  return file.endsWith(".sql");
}

function verdictOf({ code, output }: Ended): Verdict {
  if (code === 0) return { kind: "survived" };
  const why = failureIn(output);
  const [test] = /test\/\S+\.test\.ts/.exec(why) ?? [];
  return { kind: code === null ? "hung" : "killed", why, ...(test !== undefined && { test }) };
}

function failureIn(output: string): string {
  return /^ *(?:×|FAIL) .*$/m.exec(output)?.[0].trim() ?? output.slice(-400);
}

/**
 * Makes the database that the tests copy (fresh-database.ts): that of the tree as it is, with one function replaced. Left to
 * themselves, the tests would migrate it.
 */
async function makeTemplate({ mutated }: Mutant, { workbench, serverUrl }: Workplace): Promise<void> {
  const name = templateOf(workbench);
  if (name === ownTemplate) return;
  await onServer(serverUrl, `create database ${name} template ${ownTemplate} strategy file_copy`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await onServer(url.href, `${mutated};${recordFunctions(readSchema({ folder: sqlOf(workbench) }))}`);
}

/** That of the tree as it is stays: others may be copying it. */
async function dropTemplate({ workbench, serverUrl }: Workplace): Promise<void> {
  const name = templateOf(workbench);
  if (name !== ownTemplate) await onServer(serverUrl, `drop database if exists ${name} with (force)`);
}

const ownTemplate = templateName(migrationSql());

function templateOf(workbench: Workbench): string {
  return templateName(migrationSql({ folder: sqlOf(workbench) }));
}

function sqlOf({ folder }: Workbench): URL {
  return pathToFileURL(`${folder}/src/postgres/`);
}
