/** What is shown of an error that ends a command. */
import { inspect } from "node:util";
import { LayoverError } from "../core/errors.ts";
import { SetupError } from "../postgres/setup-error.ts";
import { plain } from "./screen.ts";
import { UsageError } from "./usage-error.ts";

/** A mistake of ours, or of the user's code, is shown whole. */
export function complaint(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\n${error.hint}`;
  if (error instanceof LayoverError) return `${asSentence(plain(error.message))}\n${plain(error.hint)}`;
  return error instanceof SetupError ? error.message : inspect(error);
}

export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}
