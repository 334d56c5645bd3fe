/** `step.scope`, `step.all` and `step.race`: pieces of the handler with names of their own. */
import type { Schemas } from "../../contract/schema.ts";
import type { Branch, Branches } from "../../contract/step.ts";
import { checkBranches, checkFunction } from "./step-checks.ts";
import type { StepScope } from "./step-scope.ts";

export async function inScope<Result>(
  scope: StepScope,
  name: string,
  body: Branch<Schemas, Schemas, Result>,
): Promise<Result> {
  checkFunction(`the body of scope ${JSON.stringify(name)}`, body, "({ step }) => …");
  return body({ step: scope.inside(`${scope.region(name)}/`) });
}

export async function all<const Results extends readonly unknown[]>(
  scope: StepScope,
  name: string,
  list: Branches<Schemas, Schemas, Results>,
): Promise<Results> {
  checkBranches(`all ${JSON.stringify(name)}`, list);
  return (await Promise.all(begin(scope, scope.region(name), list))) as unknown as Results; // one result a branch, in their order
}

export async function race<const Results extends readonly unknown[]>(
  scope: StepScope,
  name: string,
  list: Branches<Schemas, Schemas, Results>,
): Promise<Results[number]> {
  checkBranches(`race ${JSON.stringify(name)}`, list);
  const path = scope.region(name);
  try {
    return await Promise.race<Results[number]>(begin(scope, path, list));
  } finally {
    scope.execution.release(`${path}[`);
  }
}

function begin<Result>(
  scope: StepScope,
  path: string,
  list: readonly Branch<Schemas, Schemas, Result>[],
): Promise<Result>[] {
  const results = list.map(async (branch, index) => branch({ step: scope.inside(`${path}[${index}]/`) }));
  for (const result of results) result.catch(() => {});
  return results;
}
