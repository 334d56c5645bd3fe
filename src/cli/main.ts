#!/usr/bin/env node
/** The command `layover`. One file a command; what they throw becomes a sentence and an exit code here. */
import { LayoverError } from "../core/errors.ts";
import { SetupError } from "../postgres/setup-error.ts";
import { dev } from "./dev.ts";
import { UsageError } from "./usage-error.ts";

const usage = `Usage: layover COMMAND

  dev [MODULE] [--port 3000] [--data .layover/data]
      Serves the workflows that MODULE exports, on an embedded Postgres that keeps its data in a folder.
      MODULE: functions/workflows/index.ts, if none is given.
`;

const commands: ReadonlyMap<string, (args: string[]) => Promise<void>> = new Map([["dev", dev]]);

async function main([name, ...args]: string[]): Promise<void> {
  const isHelp = [name, ...args].some((arg) => arg === "--help" || arg === "-h") || name === "help";
  if (isHelp || name === undefined) {
    process.stdout.write(usage);
    return;
  }
  const command = commands.get(name);
  if (command === undefined) {
    const names = [...commands.keys()].join(", ");
    throw new UsageError(`There is no command ${JSON.stringify(name)}.`, { hint: `The commands are: ${names}.` });
  }
  await command(args);
}

/** A mistake of ours, or of the user's code, is shown whole. */
function complaint(error: unknown): unknown {
  if (error instanceof UsageError) return `${error.message}\n${error.hint}`;
  if (error instanceof LayoverError) return `${error.message}. ${error.hint}`;
  return error instanceof SetupError ? error.message : error;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(complaint(error));
  // Not `exitCode`: what had begun before it failed must not keep the process alive.
  process.exit(1);
}
