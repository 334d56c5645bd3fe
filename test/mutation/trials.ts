/** Runs tests on mutants: those of the SQL in databases of their own, those of the engine in a tree of which one file is another one. */

import { migrationSql } from "../../src/postgres/migration-sql.ts";
import { onServer, templateName } from "../postgres/fresh-database.ts";
import type { Reach } from "./reach.ts";
import { functionOf, isOfSql, type Mutant } from "./sql-mutants.ts";
import type { Outcome, Tests } from "./tests.ts";
import type { Verdict } from "./verdict.ts";
import type { Ended, Workbench } from "./workbench.ts";

export interface Workplace {
  readonly workbench: Workbench;
  readonly serverUrl: string;
  readonly tests: Tests;
  readonly reach: Reach;
  /** The files of tests that have been asked about a mutant. */
  readonly asked: WeakMap<Mutant, Set<string>>;
}

/** Those that were found out. */
export type Verdicts = ReadonlyMap<Mutant, Verdict>;

/** The template of the tree as it is. */
export const ownTemplate = templateName(migrationSql());

/** A mutant may wait for ever. On an idle machine, no suite takes longer than two minutes and a half. */
const longestMs = 600_000;
const vitest =
  "node_modules/vitest/vitest.mjs run --config test/vitest.config.ts --bail 1 --maxWorkers 1 --no-cache --no-isolate";

/**
 * SQL is read from the database alone, so one loading of the tests serves many of its mutants. They have to be of one function.
 * TypeScript is loaded anew for each of its mutants.
 */
export async function byVitest(
  mutants: readonly Mutant[],
  filters: readonly string[],
  workplace: Workplace,
): Promise<Verdicts> {
  const verdicts = new Map<Mutant, Verdict>();
  for (const mutant of mutants.filter((each) => !isOfSql(each)))
    verdicts.set(mutant, await byEngine(mutant, filters, workplace));
  const [first, ...others] = mutants.filter(isOfSql);
  if (first === undefined) return verdicts;
  for (const [mutant, verdict] of await bySql([first, ...others], functionOf(first), filters, workplace))
    verdicts.set(mutant, verdict);
  return verdicts;
}

async function bySql(
  mutants: readonly Mutant[],
  name: string,
  filters: readonly string[],
  workplace: Workplace,
): Promise<Verdicts> {
  const { serverUrl, reach, tests } = workplace;
  const verdicts = new Map<Mutant, Verdict>();
  const templates = new Map<string, Mutant>();
  try {
    for (const [index, mutant] of mutants.entries()) {
      const template = `layover_mutant_${process.pid}_${workplace.workbench.name}_${index}`;
      templates.set(template, mutant);
      const why = await makeTemplate(template, mutant, serverUrl);
      if (why === undefined) workplace.workbench.write(`${template}.sql`, mutant.mutated);
      else verdicts.set(mutant, { kind: "invalid", why });
    }
    for (const file of await reach.inOrder(await tests.files(filters), name, tests)) {
      const left = [...templates].filter(([, each]) => !verdicts.has(each) && !isAsked(each, file, workplace));
      if (left.length === 0) continue;
      const outcomes = await tests.run(
        file,
        left.map(([template]) => template),
        longestMs,
      );
      for (const [template, mutant] of left) {
        const verdict = verdictOf(outcomes.get(template), file);
        if (verdict === undefined) continue;
        reach.noteKill(file);
        verdicts.set(mutant, verdict);
      }
    }
  } finally {
    for (const template of templates.keys()) await onServer(serverUrl, dropping(template));
  }
  return verdicts;
}

function isAsked(mutant: Mutant, file: string, { asked }: Workplace): boolean {
  const files = asked.get(mutant) ?? new Set();
  asked.set(mutant, files);
  const before = files.has(file);
  files.add(file);
  return before;
}

function verdictOf(outcome: Outcome, file: string): Verdict | undefined {
  if (outcome === undefined) return undefined;
  const test = file.slice(file.lastIndexOf("/test/") + 1);
  return outcome === "hung" ? { kind: "hung", test } : { kind: "killed", why: outcome.why, test };
}

/** Makes the database that the tests copy: that of the tree as it is, with one function replaced. Answers why that is no SQL. */
async function makeTemplate(name: string, { mutated }: Mutant, serverUrl: string): Promise<string | undefined> {
  await onServer(serverUrl, dropping(name));
  await onServer(serverUrl, `create database ${name} template ${ownTemplate} strategy file_copy`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  try {
    await onServer(url.href, mutated);
    // A mutant is what these tests begin with, so a database that they share counts as unaltered (emptying.sql).
    await onServer(url.href, "delete from layover_test.alteration");
    return undefined;
  } catch (error) {
    return String(error);
  }
}

const dropping = (template: string) => `drop database if exists ${template} with (force)`;

/** @throws Error if these tests fail without any mutant: they would kill all of them */
async function byEngine(mutant: Mutant, filters: readonly string[], workplace: Workplace): Promise<Verdict> {
  const verdict = await inMutatedTree(mutant, workplace.workbench, () => runTests(filters, workplace));
  if (verdict.kind === "survived") return verdict;
  const key = filters.join(" ");
  const control = controls.get(key) ?? runTests(filters, workplace);
  controls.set(key, control);
  const { kind, why } = await control;
  if (kind === "hung") throw new Error(`tests take too long without any mutant (${key}): is the machine busy?`);
  if (kind !== "survived") throw new Error(`tests fail without any mutant (${key}): ${why}`);
  return verdict;
}

/** How tests end in the tree without any mutant, by their filters. */
const controls = new Map<string, Promise<Verdict>>();

async function runTests(filters: readonly string[], { workbench, serverUrl }: Workplace): Promise<Verdict> {
  const args = [...vitest.split(" "), "--reporter=verbose", "--passWithNoTests", ...filters];
  return endOf(await workbench.node(args, { TEST_DATABASE_URL: serverUrl, TEST_SIZE: "whole" }, longestMs));
}

/** A program that exits with 1 where it found something. */
export async function byProgram(
  mutant: Mutant,
  program: readonly string[],
  { workbench, serverUrl }: Workplace,
): Promise<Verdict> {
  const args = ["--conditions=layover-source", ...program, "--database", serverUrl];
  return await inMutatedTree(mutant, workbench, async () => endOf(await workbench.node(args, {}, longestMs)));
}

async function inMutatedTree(mutant: Mutant, workbench: Workbench, act: () => Promise<Verdict>): Promise<Verdict> {
  workbench.write(mutant.file, mutant.mutated);
  try {
    return await act();
  } finally {
    workbench.putBack(mutant.file);
  }
}

function endOf({ code, output }: Ended): Verdict {
  if (code === 0) return { kind: "survived" };
  const why = failureIn(output);
  const [test] = /test\/\S+\.test\.ts/.exec(why) ?? [];
  return { kind: code === null ? "hung" : "killed", why, ...(test !== undefined && { test }) };
}

function failureIn(output: string): string {
  return /^ *(?:×|FAIL) .*$/m.exec(output)?.[0].trim() ?? output.slice(-400);
}
