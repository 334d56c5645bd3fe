/**
 * Has the databases of a file of tests copied from the template that run-tests.ts names, or left by the file's run on the
 * template before; and ends the file at its first failure.
 */
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeEach, expect, onTestFailed } from "vitest";
import { beginRound, endRounds } from "../postgres/rounds.ts";

const asked = new URLSearchParams(expect.getState().testPath?.split("?")[1]);
const template = asked.get("template");
if (template === null) throw new Error("a file of tests is run on a template");
const { OWN_TEMPLATE, CALLED_FILE } = process.env;
process.env["TEST_TEMPLATE"] = template;
if (template === OWN_TEMPLATE && CALLED_FILE !== undefined) process.env["TEST_CALLED"] = CALLED_FILE;
else delete process.env["TEST_CALLED"];

// Written by trials.ts. The tree as it is has none.
const mutant = `${template}.sql`;
beginRound(existsSync(mutant) ? readFileSync(mutant, "utf8") : undefined);
afterAll(async () => {
  if (asked.has("last")) await endRounds();
});

let hasFailed = false;
beforeEach(({ skip }) => {
  if (hasFailed) skip("another test of the file has failed");
  onTestFailed(() => {
    hasFailed = true;
  });
});
