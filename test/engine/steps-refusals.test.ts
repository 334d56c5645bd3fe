/** Steps that are refused: one whose body is no function, and one in the body of another. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play } from "./playing.ts";
import type { World } from "./world.ts";

const database = testDatabase();

test("a step that is no function is refused", async () => {
  const body: unknown = "charge";
  const { view } = await play(database, async ({ step }) => step.run("charge", body as () => string));
  expect(view.error).toMatchObject({ code: "invalid_request", message: 'the body of step "charge" is no function' });
});

describe("a step in the body of a step", () => {
  test.each([
    ["at once", undefined],
    ["after a while", (world: World) => world.foreign(100)],
  ])("is refused: %s", async (when, pause) => {
    let calls = 0;
    const { view } = await play(database, async ({ step }, world) =>
      step.run("outer", async () => {
        calls += 1;
        if (pause !== undefined) await pause(world);
        return step.run("inner", () => "never");
      }),
    );
    expect(calls).toBe(1);
    if (when === "at once") {
      expect(view).toMatchObject({
        status: "failed",
        error: { name: "StepError", cause: { code: "nested_step", message: expect.stringContaining("inner") } },
      });
    } else
      expect(view).toMatchObject({
        status: "blocked",
        blocked: expect.stringContaining("or the body of step outer uses `step`"),
      });
  });

  test("blocks the run also from a branch, whose failure is not recorded", async () => {
    const { view, world, run } = await play(database, async ({ step }, world) =>
      Promise.all([
        step.run("beside", () => world.foreign("1s")),
        step.run("outer", async () => {
          await world.foreign(100);
          return step.run("inner", () => "never");
        }),
      ]),
    );
    expect(view).toMatchObject({
      status: "blocked",
      blocked: expect.stringContaining("or the body of step beside or outer uses `step`"),
    });
    expect((await world.history(run)).attempts).toEqual([]);
  });
});
