/** Has the databases of a file of tests copied from the template that run-tests.ts names, and ends the file at its first failure. */
import { beforeEach, expect, onTestFailed } from "vitest";

const [, template] = expect.getState().testPath?.split("?template=") ?? [];
if (template === undefined) throw new Error("a file of tests is run on a template");
const { OWN_TEMPLATE, CALLED_FILE } = process.env;
process.env["TEST_TEMPLATE"] = template;
if (template === OWN_TEMPLATE && CALLED_FILE !== undefined) process.env["TEST_CALLED"] = CALLED_FILE;
else delete process.env["TEST_CALLED"];

let hasFailed = false;
beforeEach(({ skip }) => {
  if (hasFailed) skip("another test of the file has failed");
  onTestFailed(() => {
    hasFailed = true;
  });
});
