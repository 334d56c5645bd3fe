/** Verdicts in a file, so that a long campaign goes on where it was broken off. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import type { Attempted } from "./attempts.ts";
import type { Mutant } from "./sql-mutants.ts";

const Written = z.array(
  z.object({
    id: z.string(),
    file: z.string(),
    line: z.number(),
    kind: z.enum(["killed", "hung", "invalid", "survived"]),
    by: z.string().optional(),
    test: z.string().optional(),
    why: z.string().optional(),
    /** A digest of the mutant's text: what was said of another text says nothing. */
    digest: z.string(),
  }),
);

export function writeVerdicts(file: string, attempted: readonly Attempted[]): void {
  const rows = attempted.map(({ mutant, verdict: { kind, why, test }, by }) => {
    const { id, line } = mutant;
    return { id, file: mutant.file, line, kind, by, test, why: why?.slice(0, 300), digest: digestOf(mutant) };
  });
  writeFileSync(file, `${JSON.stringify(rows, null, 1)}\n`);
}

/** Answers what is known of these mutants, each as it is now. No such file: nothing. */
export function verdictsIn(file: string, mutants: readonly Mutant[]): Attempted[] {
  if (!existsSync(file)) return [];
  const known = new Map(mutants.map((mutant) => [`${mutant.id} ${digestOf(mutant)}`, mutant]));
  return read(file).flatMap(({ id, digest, kind, why, test, by }) => {
    const mutant = known.get(`${id} ${digest}`);
    if (mutant === undefined) return [];
    return [{ mutant, verdict: { kind, ...(why !== undefined && { why }), ...(test !== undefined && { test }) }, by }];
  });
}

export function survivorsIn(file: string): ReadonlySet<string> {
  return new Set(read(file).flatMap(({ id, kind }) => (kind === "survived" ? [id] : [])));
}

function read(file: string): z.infer<typeof Written> {
  return Written.parse(JSON.parse(readFileSync(file, "utf8")));
}

function digestOf({ mutated }: Mutant): string {
  return createHash("sha256").update(mutated).digest("hex").slice(0, 16);
}
