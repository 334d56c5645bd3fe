/** Every mutant that there is. */
import { readSchema } from "../../src/postgres/sql-files.ts";
import { engineMutants } from "./engine-mutants.ts";
import { type Mutant, sqlMutants } from "./sql-mutants.ts";
import { root } from "./workbench.ts";

export function allMutants(): Mutant[] {
  const folder = new URL("src/postgres/", root);
  return [...readSchema({ folder }).functions.flatMap(sqlMutants), ...engineMutants(root)];
}
