/** Runs that are retried, restarted or forked after a change of code (`step.patched`): which of its paths they take. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { others, steps } from "./patching.ts";
import { type TestedHandler, tested, worldOf } from "./playing.ts";

const database = testDatabase();

describe("a repair", () => {
  const shop = () => {
    const { done, act } = steps();
    const state = { isBroken: true, answers: [] as boolean[] };
    const handle =
      (isNew: boolean): TestedHandler =>
      async ({ step }) => {
        await act(step, "charge");
        if (isNew) state.answers.push(step.patched("path"));
        await act(step, "pack");
        await step.run(
          "ship",
          () => {
            done.push("ship");
            if (state.isBroken) throw new Error("no van");
          },
          { retry: { maxAttempts: 1 } },
        );
      };
    return { done, state, before: handle(false), after: handle(true) };
  };

  test.each(["retry", "restart"] as const)("by %s keeps the answers of what it keeps", async (verb) => {
    const { state, before, after } = shop();
    const world = await worldOf(database, after, others);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.deploy({ workflows: [tested.handler(before)] });
    await world.deploy({ workflows: [tested.handler(after)] });
    state.isBroken = false;
    state.answers = [];
    await world.ask((client) =>
      verb === "retry" ? client.retry(run.runId) : client.restart(run.runId, { from: "ship" }),
    );
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(new Set(state.answers)).toEqual(new Set([true]));
  });

  test("keeps the old path of a run that has not met the change", async () => {
    const { state, before, after } = shop();
    const world = await worldOf(database, before, others);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.deploy({ workflows: [tested.handler(after)] });
    state.isBroken = false;
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(new Set(state.answers)).toEqual(new Set([false]));
  });

  test("that begins before the place meets the change, and so does a fork", async () => {
    const { state, before, after } = shop();
    const world = await worldOf(database, before, others);
    const run = await world.start(tested);
    await world.run(run);
    await world.deploy({ workflows: [tested.handler(after)] });
    state.isBroken = false;
    const { runId: forked } = await world.ask((client) => client.fork(run.runId, { from: "pack" }));
    await world.pass("1 minute");
    expect(await world.get(forked)).toMatchObject({ status: "completed" });
    await world.ask((client) => client.restart(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(new Set(state.answers)).toEqual(new Set([true]));
  });

  test("tries another path where the handler threw, since nothing came of the old one", async () => {
    const { done, act } = steps();
    const handle =
      (isNew: boolean): TestedHandler =>
      async ({ step }) => {
        await act(step, "charge");
        if (isNew && step.patched("path")) await act(step, "mend");
        else throw new Error("a mistake");
      };
    const world = await worldOf(database, handle(false), others);
    const run = await world.start(tested);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await world.deploy({ workflows: [tested.handler(handle(true))] });
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(done).toEqual(["charge", "mend"]);
  });
});
