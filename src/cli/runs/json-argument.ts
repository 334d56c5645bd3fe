/** A value on the command line: JSON as it stands, `@FILE`, or `-` for stdin. */
import { readFileSync } from "node:fs";
import { text as readAll } from "node:stream/consumers";
import { UsageError } from "../usage-error.ts";

/** @throws UsageError */
export async function jsonArgument(given: string, option: string): Promise<unknown> {
  const [text, from] = await source(given, option);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${from} is not JSON: ${reason}.`, {
      hint: `In a shell, put it in single quotes: ${option} '{"amount": 42}'. Or ${option} @FILE, or ${option} - for stdin.`,
      cause,
    });
  }
}

async function source(given: string, option: string): Promise<readonly [text: string, from: string]> {
  if (given === "-") return [await readAll(process.stdin), "What came by stdin"];
  if (!given.startsWith("@")) return [given, `What ${option} says`];
  const file = given.slice(1);
  try {
    return [readFileSync(file, "utf8"), `The file ${file}`];
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`The file ${file} cannot be read: ${reason}.`, {
      hint: `Name one that is there: ${option} @FILE`,
      cause,
    });
  }
}
