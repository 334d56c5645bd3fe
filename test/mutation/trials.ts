/** Runs tests in a tree of which one file is another one, and puts the file back. */
import { pathToFileURL } from "node:url";
import { Client } from "pg";
import { migrationSql } from "../../src/postgres/migrate.ts";
import { templateName } from "../postgres/fresh-database.ts";
import type { Mutant } from "./sql-mutants.ts";
import type { Verdict } from "./verdict.ts";
import type { Ended, Workbench } from "./workbench.ts";

export interface Workplace {
  readonly workbench: Workbench;
  readonly serverUrl: string;
  /** The file that has failed last, by the filters it was found with. */
  readonly lastFailed: Map<string, string>;
}

/** A mutant may wait for ever. On an idle machine, no suite takes longer than a minute. */
const longestMs = 300_000;
const vitest =
  "node_modules/vitest/vitest.mjs run --config test/vitest.config.ts --bail 1 --maxWorkers 1 --no-cache --no-isolate";

/** What found out the last mutant is asked first: the next one is close to it. */
export function byVitest(mutant: Mutant, filters: readonly string[], workplace: Workplace): Promise<Verdict> {
  const { workbench, lastFailed } = workplace;
  const key = filters.join(" ");
  const env = { TEST_DATABASE_URL: workplace.serverUrl };
  const run = async (...more: readonly string[]) =>
    await workbench.node([...vitest.split(" "), "--reporter=verbose", ...more], env, longestMs);
  return inMutatedTree(mutant, workplace, async () => {
    const first = lastFailed.get(key);
    if (first !== undefined) {
      const ended = await run(first);
      if (ended.code !== 0) return ended;
    }
    const ended = await run(...filters, ...(first === undefined ? [] : ["--exclude", first]), "--passWithNoTests");
    const [failed] = /test\/\S+\.test\.ts/.exec(failureIn(ended.output)) ?? [];
    if (ended.code !== 0 && failed !== undefined) lastFailed.set(key, failed);
    return ended;
  });
}

/** A program that exits with 1 where it found something. */
export function byProgram(mutant: Mutant, program: readonly string[], workplace: Workplace): Promise<Verdict> {
  const args = ["--conditions=layover-source", ...program, "--database", workplace.serverUrl];
  return inMutatedTree(mutant, workplace, () => workplace.workbench.node(args, {}, longestMs));
}

async function inMutatedTree(mutant: Mutant, workplace: Workplace, act: () => Promise<Ended>): Promise<Verdict> {
  const { workbench } = workplace;
  workbench.write(mutant.file, mutant.mutated);
  try {
    const { code, output } = await act();
    if (code === 0) return { kind: "survived" };
    return { kind: code === null ? "hung" : "killed", why: failureIn(output) };
  } finally {
    // That of the tree as it is stays: others may be copying it.
    if (mutant.file.endsWith(".sql") && templateOf(workplace) !== templateName(migrationSql()))
      await dropTemplate(workplace);
    workbench.putBack(mutant.file);
  }
}

function failureIn(output: string): string {
  return /^ *(?:×|FAIL) .*$/m.exec(output)?.[0].trim() ?? output.slice(-400);
}

/** Each state of the SQL has made a database of its own to copy from (fresh-database.ts). */
async function dropTemplate(workplace: Workplace): Promise<void> {
  const server = new Client(workplace.serverUrl);
  await server.connect();
  try {
    await server.query(`drop database if exists ${templateOf(workplace)} with (force)`);
  } finally {
    await server.end();
  }
}

function templateOf({ workbench }: Workplace): string {
  return templateName(migrationSql({ folder: pathToFileURL(`${workbench.folder}/src/postgres/`) }));
}
