/**
 * Mutation of the SQL and of the engine's orderings: changes one place at a time in a copy of the tree, and tells which
 * changes no test finds out.
 *
 *   npm run mutate:sql                                  all whose file has changed since it was listed in ledger.json
 *   npm run mutate:sql -- --all                         … and the listed ones (many hours)
 *   npm run mutate:sql -- --resume verdicts.json         … and goes on there after a break
 *   npm run mutate:sql -- --list --only claim_runs      what there is to change there
 *   npm run mutate:sql -- --only claim_runs --jobs 2    … and who finds it out
 *   npm run mutate:sql -- --only engine:                the orderings of the TypeScript
 *   npm run mutate:sql -- --thorough --by nearest       … after a change: whether what is explained still is true
 *
 * `--only`: a part of the id, or a file of src/postgres/functions; may come several times. `--by model,races`: only these
 * killers, in the order of killers.ts. `--tests FILTER`: only these tests, by filters of vitest. `--json FILE`: writes all
 * verdicts. `--resume FILE`: the same, and what is written there is not tried again, unless its file has changed since.
 * `--again FILE`: only those that survived there. `--sequences N`: of the model at most, when it is asked for the
 * second time. `--seeds N`: of the simulation. `--thorough`: asks all killers also about what explained.ts
 * explains; the few sequences of the model are always asked.
 *
 * Exits with 1 if a mutant survived that explained.ts does not explain, or if an explanation explains nothing.
 */
import { parseArgs } from "node:util";
import { readSchema } from "../../src/postgres/sql-files.ts";
import { findPostgres, versionsToTest } from "../postgres/find.ts";
import { tellUsage } from "../usage.ts";
import { allMutants } from "./all-mutants.ts";
import { attempt } from "./attempts.ts";
import { explained } from "./explained.ts";
import { type Killer, killers, onlyTests } from "./killers.ts";
import { Progress, playedBefore } from "./ledger.ts";
import { table, verdictOf } from "./report.ts";
import { survivorsIn, verdictsIn, writeVerdicts } from "./verdict-file.ts";

tellUsage(import.meta.url);
const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    all: { type: "boolean", default: false },
    by: { type: "string" },
    tests: { type: "string", multiple: true, default: [] },
    thorough: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    jobs: { type: "string", default: "2" },
    json: { type: "string" },
    resume: { type: "string" },
    again: { type: "string" },
    sequences: { type: "string", default: "2000" },
    seeds: { type: "string", default: "300" },
  },
});

const survivors = values.again === undefined ? undefined : survivorsIn(values.again);
const everything = allMutants();
const mutants = everything.filter(
  ({ id, file }) =>
    (survivors?.has(id) ?? true) &&
    (values.only.length === 0 || values.only.some((part) => id.includes(part) || file.endsWith(part))),
);

// Whatever runs in copies of the tree ends with this, and so do the copies.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

if (values.list) {
  for (const { id, file, line } of mutants) console.log(`${file}:${line}  ${id}`);
  console.log(`${mutants.length} mutants`);
} else {
  process.exitCode = await mutate();
}

async function mutate(): Promise<number> {
  const all = killers(["--seeds", values.seeds, "--jobs", "1"]).filter(isAsked);
  const asked = values.tests.length > 0 ? onlyTests(values.tests) : all;
  for (const { name, missing } of asked) if (missing !== undefined) console.log(`without ${name}: ${missing}`);
  const server = await findPostgres(versionsToTest()[0] ?? "15");
  const known = new Set(explained.flatMap(({ mutants: ids }) => ids));
  const before = values.all || values.thorough || values.tests.length > 0 ? [] : playedBefore(mutants, known);
  const resumed = values.resume === undefined ? [] : verdictsIn(values.resume, mutants);
  const attempted = [...new Map([...before, ...resumed].map((one) => [one.mutant, one])).values()];
  const done = new Set(attempted.map(({ mutant }) => mutant));
  const file = values.resume ?? values.json;
  const progress = new Progress(everything, known);
  for (const one of resumed) progress.note(one);
  const began = Date.now();
  try {
    await attempt(
      mutants.filter((mutant) => !done.has(mutant)),
      {
        serverUrl: server.url,
        functions: readSchema().functions,
        killers: asked.filter(({ missing }) => missing === undefined),
        jobs: Number(values.jobs),
        sequences: Number(values.sequences),
        isExplained: ({ id }) => !values.thorough && known.has(id),
        onAttempted: (one) => {
          attempted.push(one);
          const minutes = ((Date.now() - began) / 60_000).toFixed(1);
          console.log(`${attempted.length}/${mutants.length} ${minutes} min  ${verdictOf(one)}  ${one.mutant.id}`);
          if (file !== undefined) writeVerdicts(file, attempted);
          progress.note(one);
        },
      },
    );
  } finally {
    await server.stop();
  }
  const isWhole =
    values.only.length === 0 && values.tests.length === 0 && values.by === undefined && values.again === undefined;
  const { text, isFine } = table(attempted, explained, isWhole);
  console.log(text);
  return isFine ? 0 : 1;
}

function isAsked({ name }: Killer): boolean {
  return values.by === undefined || values.by.split(",").includes(name);
}
