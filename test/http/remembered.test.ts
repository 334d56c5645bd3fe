import { expect, it } from "vitest";
import { BoundedMap } from "../../src/http/remembered.ts";

it("forgets what it has kept longest when it is full", () => {
  const map = new BoundedMap<number>(2);
  for (const [index, key] of ["a", "b", "b", "c"].entries()) map.set(key, index);
  expect(["a", "b", "c"].map((key) => map.get(key))).toEqual([undefined, 2, 3]);
});
