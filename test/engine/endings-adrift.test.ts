/** Handlers that are cancelled while they wait for something that is none of layover's: how long they are waited for. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { cancelled } from "./cancelling.ts";

const database = testDatabase();

describe("a handler that waits for something of its own when it is cancelled", () => {
  test.each([{ warmRuns: 0 }, {}])(
    "before, in and after its cleanups is cancelled, and not blocked: %j",
    async (options) => {
      const done: string[] = [];
      const { world, run } = await cancelled(
        database,
        async ({ step }, world) => {
          try {
            await step.sleep("nap", "1 day");
          } finally {
            await world.foreign("300ms");
            await step.cleanup("release", async ({ step }) => {
              await step.run("unlock", () => done.push("unlock"));
              await world.foreign("300ms");
              await step.sleep("settle", "5 minutes");
              await step.run("tell", () => done.push("tell"));
            });
            await world.foreign();
          }
        },
        options,
      );
      await world.pass("7 minutes");
      expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", blocked: undefined });
      expect(done).toEqual(["unlock", "tell"]);
    },
  );

  test.each([
    ["900ms", { warmRuns: 0 }, ["unlock"]],
    ["900ms", {}, ["unlock"]],
    ["1100ms", { warmRuns: 0 }, []],
    ["1100ms", {}, []],
  ] as const)("is waited for for a second, and cancelled then: %s, %j", async (wait, options, expected) => {
    const done: string[] = [];
    const { world, run } = await cancelled(
      database,
      async ({ step }, world) => {
        try {
          await step.sleep("nap", "1 day");
        } finally {
          await world.foreign(wait);
          await step.cleanup("release", ({ step }) => step.run("unlock", () => done.push("unlock")));
        }
      },
      options,
    );
    await world.pass("10 seconds");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", blocked: undefined });
    expect(done).toEqual(expected);
  });

  test("has a cleanup beside it carried out to its end", async () => {
    const done: string[] = [];
    const { world, run } = await cancelled(database, async ({ step }, world) =>
      Promise.all([
        step.sleep("nap", "1 day").catch(() => world.foreign()),
        step.cleanup("release", async ({ step }) => {
          await step.sleep("settle", "5 minutes");
          await step.run("tell", () => done.push("tell"));
        }),
      ]),
    );
    await world.pass("7 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelled", blocked: undefined });
    expect(done).toEqual(["tell"]);
  });
});
