/** What is written down about mutants is about mutants that there are. (Who kills which: `npm run mutate:sql`, by hand.) */
import { describe, expect, test } from "vitest";
import { allMutants } from "./all-mutants.ts";
import { engineMutants, orderings } from "./engine-mutants.ts";
import { explained } from "./explained.ts";
import { root } from "./workbench.ts";

describe("the mutants of this tree", () => {
  const ids = allMutants().map(({ id }) => id);

  test("each have an id of their own", () => {
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("of the engine apply: what each of them changes stands in its file once", () => {
    expect(engineMutants(root)).toHaveLength(orderings.length);
  });

  test("that are explained are still there, each explained once", () => {
    const known = explained.flatMap(({ mutants }) => mutants);
    expect(known.filter((id) => !ids.includes(id))).toEqual([]);
    expect(known).toHaveLength(new Set(known).size);
  });
});
