/** What a command is told by its arguments. Whatever it does not know ends it, with a sentence that says what it takes. */
import { parseArgs } from "node:util";

/** Answers the flags, which take a value and have these defaults. `switches`: what takes no value, see {@link isOn}. */
export function flagsIn<Flag extends string>(
  defaults: Readonly<Record<Flag, string>>,
  switches: readonly string[] = [],
): Readonly<Record<Flag, string>> {
  const names = Object.keys(defaults);
  try {
    const options = Object.fromEntries([
      ...names.map((name) => [name, { type: "string" as const }] as const),
      ...switches.map((name) => [name, { type: "boolean" as const }] as const),
    ]);
    return { ...defaults, ...parseArgs({ options }).values };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return refuse(`${message}\nIt takes ${[...names, ...switches].map((name) => `--${name}`).join(" and ")}.`);
  }
}

export function isOn(name: string): boolean {
  return process.argv.includes(`--${name}`);
}

export function oneOf<Choice extends string>(choices: readonly Choice[], value: string, flag: string): Choice {
  const choice = choices.find((known) => known === value);
  return choice ?? refuse(`${flag} takes ${choices.join(" or ")}, not ${JSON.stringify(value)}.`);
}

export function refuse(sentence: string): never {
  console.error(sentence);
  process.exit(1);
}
