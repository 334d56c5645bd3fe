/** Asks a person whether something is meant that nobody can take back. */
import { createInterface } from "node:readline/promises";
import { printableLines } from "../platform/log/printable.ts";
import { UsageError } from "./usage-error.ts";

/** `what` would happen. @throws UsageError if it is not meant, or if nobody is there to be asked */
export async function confirm(what: string, command: string): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new UsageError(what, { hint: `Nothing was changed. If that is meant: layover ${command} --yes` });
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(printableLines(`${what} Go on? [y/N] `));
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError("Nothing was changed.", { hint: "It asks for a y." });
}
