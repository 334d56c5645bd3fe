#!/usr/bin/env node
/**
 * The command `layover`. It imports nothing before it has looked at Node's version: on an older Node what it needs ends in
 * the middle of something, or cannot even be read.
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
