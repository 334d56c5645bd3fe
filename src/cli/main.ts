#!/usr/bin/env node
/**
 * The command `layover`. It looks at Node's version before it imports anything else: on an older Node the imports fail
 * with errors that do not say why.
 */
const oldest = 22;
const { node } = process.versions;

if (Number.parseInt(node, 10) < oldest) {
  process.stderr.write(`layover needs Node ${oldest} or newer, and this is Node ${node}.\n`);
  process.exitCode = 1;
} else {
  await import("./program.ts");
}

export {};
