/** What `layover doctor` says: to a person, line by line, and to a program, of each thing. */
import { expect } from "vitest";
import * as z from "zod";
import { layover, type Said } from "./layover.ts";

const Report = z.object({
  isWell: z.boolean(),
  checks: z.array(z.object({ about: z.string(), level: z.string(), says: z.string(), todo: z.string().optional() })),
});

export async function doctor(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Said> {
  return await layover(["doctor", ...args], { env });
}

/** Answers the lines of its report, by the thing that each is about. */
export async function report(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Readonly<Record<string, string>>> {
  const { stdout, status } = await doctor(env, "--json", ...args);
  const { isWell, checks } = Report.parse(JSON.parse(stdout));
  expect(isWell).toBe(status === 0);
  const lines = Map.groupBy(checks, ({ about }) => about);
  const shown = ({ level, says, todo }: (typeof checks)[number]) =>
    `${level}: ${says}${todo === undefined ? "" : ` → ${todo}`}`;
  return Object.fromEntries([...lines].map(([about, said]) => [about, said.map(shown).join("\n")]));
}
