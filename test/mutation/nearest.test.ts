/** A new function has to say which tests look most closely at it. Otherwise each of its mutants costs minutes. */
import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { readSchema } from "../../src/postgres/sql-files.ts";
import { nearestTo } from "./nearest.ts";
import { sqlMutants } from "./sql-mutants.ts";

const { functions } = readSchema();
const changeable = functions.filter((one) => sqlMutants(one).length > 0).map(({ name }) => name);
const files = globSync("test/**/*.test.ts");

test("each function that can be changed has tests that are nearest to it", () => {
  expect(changeable.filter((name) => nearestTo(name).length === 0)).toEqual([]);
});

test("the nearest tests are there", () => {
  const filters = new Set(changeable.flatMap(nearestTo));
  expect([...filters].filter((filter) => !files.some((file) => file.includes(filter)))).toEqual([]);
});
