/** Names of steps: which are refused, how long a path may be, and what two steps of one name are. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedStep } from "./playing.ts";

const database = testDatabase();

test("a step's name is checked, and the sentence says what is wrong", async () => {
  const { view } = await play(database, async ({ step }) => step.run("charge/card", () => 1));
  expect(view).toMatchObject({ status: "failed", error: { name: "LayoverError", code: "invalid_name" } });
});

test("the path of a step is checked before anything is begun, and the longest one is recorded", async () => {
  const bodies: string[] = [];
  const inScopes = (step: TestedStep, names: readonly string[], body: string): Promise<unknown> => {
    const [name = "", ...rest] = names;
    return rest.length === 0
      ? step.run(name, () => bodies.push(body))
      : step.scope(name, async ({ step: inner }) => inScopes(inner, rest, body));
  };
  const scopes = Array.from({ length: 9 }, () => "s".repeat(199));
  const { view } = await play(database, async ({ step }) => {
    await inScopes(step, [...scopes, "t".repeat(200)], "longest");
    await Promise.all([inScopes(step, [...scopes, "t".repeat(196)], "beside"), step.run("other", () => 0)]);
    await inScopes(step, [...scopes, "u".repeat(198), "x"], "too long");
  });
  expect(bodies).toEqual(["longest", "beside"]);
  expect(view).toMatchObject({
    status: "failed",
    error: { code: "invalid_name", message: expect.stringContaining("bytes long, more than 2000") },
  });
});

test("a step that is asked for twice by one name is two steps", async () => {
  const { view, world, run } = await play(database, async ({ step }) => [
    await step.run("it", () => 1),
    await step.run("it", () => 2),
  ]);
  expect(view.result).toEqual([1, 2]);
  expect((await world.history(run)).records.map(({ path, occurrence }) => [path, occurrence])).toEqual([
    ["it", 1],
    ["it", 2],
  ]);
});
