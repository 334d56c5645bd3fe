/** Renders an error that ends a command, for the person at the terminal. */
import { inspect } from "node:util";
import { LayoverError } from "../core/errors.ts";
import { SetupError } from "../postgres/setup-error.ts";
import { plain, wrapped } from "./screen.ts";
import { UsageError } from "./usage-error.ts";

/** A mistake of ours, or of the user's code, is shown whole. */
export function complaint(error: unknown): string {
  if (error instanceof UsageError) return fitted(`${error.message}\n${error.hint}`);
  if (error instanceof LayoverError) return fitted(`${asSentence(plain(error.message))}\n${plain(error.hint)}`);
  return error instanceof SetupError ? fitted(error.message) : inspect(error);
}

/** Breaks lines between words, where a terminal would break them anywhere. */
function fitted(text: string): string {
  const { columns: width } = process.stderr;
  if (width === undefined) return text;
  return text
    .split("\n")
    .map((line) => wrapped(line, { width }))
    .join("\n");
}

export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}
