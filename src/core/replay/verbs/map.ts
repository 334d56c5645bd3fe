/** `step.map` and `step.mapSettled`: the same piece of the handler for each item of a list. */
import type { MapOptions, Settled, Step } from "../../contract/step.ts";
import { CancelledError } from "../../contract/user-errors.ts";
import type { MapScope } from "../demand.ts";
import { checkIsNoCleanup } from "./cleanup.ts";
import { checkFunction, checkOptions, invalid } from "./step-checks.ts";
import { keyPart } from "./step-key.ts";
import { duplicateKey, type StepScope } from "./step-scope.ts";

/** The body of a map. It is called once for each item. */
type Each<Item, Result> = (item: Item, context: { step: Step; index: number }) => Promise<Result>;

const taken = ["maxConcurrency", "key", "sensitiveKey"];

export async function map<Item, Result>(
  scope: StepScope,
  name: string,
  items: readonly Item[],
  each: Each<Item, Result>,
  options: MapOptions<Item> = {},
): Promise<Result[]> {
  return Promise.all(begin(scope, { name, items, each, options, failsFast: true }));
}

export async function mapSettled<Item, Result>(
  scope: StepScope,
  name: string,
  items: readonly Item[],
  each: Each<Item, Result>,
  options: MapOptions<Item> = {},
): Promise<Settled<Result>[]> {
  const { execution } = scope;
  const { toldOf } = execution;
  const outcomes = await Promise.allSettled(begin(scope, { name, items, each, options, failsFast: false }));
  // It settles failures of items, and the end of the run is none.
  if (execution.toldOf !== toldOf) throw new CancelledError(execution.toldOf?.reason);
  return outcomes;
}

interface Mapped<Item, Result> {
  readonly name: string;
  readonly items: readonly Item[];
  readonly each: Each<Item, Result>;
  readonly options: MapOptions<Item>;
  readonly failsFast: boolean;
}

function begin<Item, Result>(scope: StepScope, mapped: Mapped<Item, Result>): Promise<Result>[] {
  const { name, items, each, failsFast } = mapped;
  const parts = check(scope, mapped);
  const path = scope.region(name);
  const known = new Set<string>();
  for (const part of parts) {
    if (known.has(part)) throw duplicateKey(path + part);
    known.add(part);
  }
  const shared: MapScope = { path, slots: mapped.options.maxConcurrency ?? null, failsFast };
  const results = items.map(async (item, index) => {
    if (scope.execution.isOverfull) return await scope.execution.tooMuch.promise;
    return each(item, { step: scope.inside(`${path}${parts[index]}/`, { map: shared }), index });
  });
  for (const result of results) result.catch(() => {}); // the first failure rejects the map; the others are not lost on anyone
  return results;
}

/** Checks the arguments. Answers for each item the part of its path that tells it from the others. */
function check<Item, Result>(
  scope: StepScope,
  { name, items, each, options }: Mapped<Item, Result>,
): readonly string[] {
  const what = `map ${JSON.stringify(name)}`;
  checkIsNoCleanup(scope, what);
  if (!Array.isArray(items)) throw invalid(`the items of ${what} are no array`, "Pass an array.");
  checkFunction(`what ${what} does with each item`, each, '(item, { step }) => step.run("name", …)');
  checkOptions(what, options, taken);
  const { maxConcurrency, key, sensitiveKey: isSensitive } = options;
  if (key !== undefined) checkFunction(`the key of ${what}`, key, "(item) => item.id");
  if (maxConcurrency !== undefined && (!Number.isInteger(maxConcurrency) || maxConcurrency < 1)) {
    throw invalid(`maxConcurrency is ${String(maxConcurrency)}`, "Use a whole number from 1 on, or leave it out.");
  }
  return items.map((item: Item, index) =>
    key === undefined
      ? `[${index}]`
      : keyPart(`item ${index} of ${what}`, {
          key: key(item, index) ?? null,
          isSensitive,
          digest: scope.options.digest,
        }),
  );
}
