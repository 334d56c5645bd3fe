/** Renders an error that ends a command, for the person at the terminal. */
import { inspect } from "node:util";
import { LayoverError } from "../core/errors.ts";
import { SetupError } from "../postgres/setup-error.ts";
import { plain, wrapped } from "./screen.ts";
import { UsageError } from "./usage-error.ts";

/** Makes the text of an error. An error that is a mistake in our code, or in the user's, is shown with its stack. */
export function complaint(error: unknown): string {
  if (error instanceof UsageError) return fitted(`${error.message}\n${error.hint}`);
  if (error instanceof LayoverError) return fitted(`${asSentence(plain(error.message))}\n${plain(error.hint)}`);
  return error instanceof SetupError ? fitted(error.message) : inspect(error);
}

/** Breaks lines between words. A terminal would break them within words. */
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
