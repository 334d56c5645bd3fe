/** Every mutant that there is. */
import { readdirSync, readFileSync } from "node:fs";
import { engineMutants } from "./engine-mutants.ts";
import { type Mutant, sqlMutants } from "./sql-mutants.ts";
import { root } from "./workbench.ts";

export function allMutants(): Mutant[] {
  const folder = new URL("src/postgres/functions/", root);
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort();
  const ofSql = files.flatMap((file) =>
    sqlMutants(file.slice(0, -".sql".length), readFileSync(new URL(file, folder), "utf8")),
  );
  return [...ofSql, ...engineMutants(root)];
}
