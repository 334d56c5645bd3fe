/** What a run logs: each line once, though its handler is replayed, and warnings of what it does not await or awaits in vain. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play } from "./playing.ts";

const database = testDatabase();

describe("a log", () => {
  test.each([
    ["in memory", {}],
    ["replayed at every turn", { warmRuns: 0 }],
    ["several steps an invocation", { invocation: { maxSteps: 5 } }],
  ])("is written once per execution, not once per replay: %s", async (_, options) => {
    const { world, run } = await play(
      database,
      async ({ step, log }) => {
        log.debug("begun");
        await step.run("a", () => log.info("in a"));
        log.info("after a", { n: 1 });
        await step.sleep("nap", "1 hour");
        log.warn("woken");
        await step.map("each", [1, 2], async (item, { step }) => {
          log.info("before", { item });
          await step.run("it", () => log.info("in", { item }));
          log.info("behind", { item });
        });
        log.error("done");
      },
      options,
    );
    const lines = world.logs.map(({ level, message, fields }) =>
      `${level} ${message} ${JSON.stringify(fields) ?? ""}`.trim(),
    );
    expect(lines.toSorted()).toEqual(
      [
        "debug begun",
        "info in a",
        'info after a {"n":1}',
        "warn woken",
        'info before {"item":1}',
        'info before {"item":2}',
        'info in {"item":1}',
        'info in {"item":2}',
        'info behind {"item":1}',
        'info behind {"item":2}',
        "error done",
      ].toSorted(),
    );
    expect(world.logs[0]).toMatchObject({ runId: run.runId, workflow: "tested" });
  });
});

describe("a step that nobody awaits", () => {
  test("is told once, when the handler has returned without it", async () => {
    const { world, run, view } = await play(database, async ({ step }) => {
      await step.run("charge", () => 1);
      void step.run("audit", () => 2);
      return "done";
    });
    expect(view).toMatchObject({ status: "completed", result: "done" });
    expect(world.logs).toEqual([
      {
        level: "warn",
        message:
          'the handler returned, and nothing awaited step "audit": it may never be carried out. Write "await" before it',
        fields: { code: "not_awaited" },
        runId: run.runId,
        workflow: "tested",
      },
    ]);
  });
});

describe("an await that is no step", () => {
  test.each([
    ["in memory", {}],
    ["replayed at every turn", { warmRuns: 0 }],
  ])("is told once per place: %s", async (_, options) => {
    const { world, view } = await play(
      database,
      async ({ step }, world) => {
        await world.foreign(100);
        await step.run("charge", () => 1);
        await step.sleep("nap", "1 hour");
        await world.foreign(100);
        await step.run("ship", () => 2);
        return "done";
      },
      options,
    );
    expect(view).toMatchObject({ status: "completed", result: "done" });
    expect(world.logs.map(({ level, message, fields }) => [level, fields, message.slice(0, 50)])).toEqual([
      ["warn", { code: "foreign_await" }, "the handler awaits something at its beginning that"],
      ["warn", { code: "foreign_await" }, "the handler awaits something after nap that is no "],
    ]);
  });
});
