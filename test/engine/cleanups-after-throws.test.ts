/** An error leaves the handler while another part of it cleans up: that cleanup is carried out, and then the run fails by that error. */
import { workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import type { TestedContext } from "./playing.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

const database = testDatabase();
const tried = workflow({ name: "tried", version: 1 });
const once = { retry: { maxAttempts: 1 } };
const minute = 60_000;

interface Told {
  readonly step: TestedContext["step"];
  readonly world: World;
  readonly done: string[];
}

/** Cleans up for a minute, beside a part whose step fails after half of it. */
const twoParts = async ({ step, world, done }: Told) =>
  Promise.all([
    step.cleanup("release", async ({ step }) => {
      await step.run("unlock", () => done.push("unlock"));
      await step.sleep("settle", "1 minute");
      await step.run("tell", () => done.push("tell"));
      await step.run("close", () => done.push("close"));
    }),
    (async () => {
      await step.sleep("wait", "30s");
      if (!done.includes("mended")) await step.run("charge", () => Promise.reject(new Error("no")), once);
      await step.run("ship", () => done.push("ship"));
    })(),
    (async () => {
      try {
        await step.sleep("long", "1 day");
      } finally {
        done.push("told");
      }
    })(),
    world.time,
  ]);

async function play(
  handle: (told: Told) => Promise<unknown>,
  options: Pick<WorldOptions, "processes" | "warmRuns"> = {},
) {
  const done: string[] = [];
  const world: World = await World.begin(database, {
    workflows: [tried.handler(async ({ step }) => handle({ step, world, done }))],
    warmRuns: 0,
    ...options,
  });
  return { world, done, run: await world.start(tried) };
}

describe("an error that leaves the handler amid a cleanup of another part", () => {
  test("has the cleanup go on to its end, tells nobody else, and fails the run", async () => {
    const { world, done, run } = await play(twoParts);
    await world.pass("40s");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done).toEqual(["unlock", "tell", "close"]);
    expect(world.time).toBeGreaterThanOrEqual(minute);
    expect(world.time).toBeLessThan(2 * minute);
  });

  test.each([
    ["alone", 0],
    ["beside others", 1],
  ])("has a cleanup go on whose step is at work, and recorded meanwhile, %s", async (_, others) => {
    const { world, done, run } = await play(
      async ({ step, world, done }) =>
        Promise.all([
          step.cleanup("release", async ({ step }) => {
            await step.run("unlock", () => world.foreign("20s"));
            await step.run("tell", () => done.push("tell"));
          }),
          step.run("charge", () => Promise.reject(new Error("no")), once),
          ...Array.from({ length: others }, () => step.run("slow", () => world.foreign("40s"))),
        ]),
      { processes: 2 },
    );
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done).toEqual(["tell"]);
  });

  test("tells nobody else in a process either that replays it, where the handler awaits something of its own before it throws", async () => {
    let reports = 0;
    const { world, done, run } = await play(
      async ({ step, world, done }) => {
        const release = step.cleanup("release", async ({ step }) => {
          for (const name of ["settle", "rest"]) await step.sleep(name, "1 minute");
          await step.run("close", () => done.push("close"));
        });
        const held = step
          .sleep("long", "1 day")
          .finally(() => step.cleanup("late", ({ step }) => step.run("unlock", () => done.push("late"))));
        const failing = step.sleep("wait", "30s").then(() => Promise.reject(new Error("mine")));
        await Promise.all([release, held, failing]).catch(async (error) => {
          await world.foreign(reports++ === 0 ? "5s" : "500ms");
          throw error;
        });
      },
      { warmRuns: 10 },
    );
    await world.pass("70s");
    expect(await world.get(run.runId)).toMatchObject({ status: "cancelling" });
    world.crash();
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { message: "mine" } });
    expect(done).toEqual(["close"]);
  });

  test("undoes what the run did after that cleanup", async () => {
    const { world, done, run } = await play(async ({ step, world, done }) => {
      await step.run("book", () => 1, { compensate: () => done.push("undone") });
      await twoParts({ step, world, done });
    });
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done).toEqual(["unlock", "tell", "close", "undone"]);
  });

  test("gives the cleanup an hour", async () => {
    const { world, run } = await play(async ({ step }) =>
      Promise.all([
        step.cleanup("release", async ({ step }) => step.sleep("settle", "1 day")),
        step.run("charge", () => Promise.reject(new Error("no")), once),
      ]),
    );
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(world.time).toBeGreaterThanOrEqual(60 * minute);
    expect(world.time).toBeLessThan(62 * minute);
  });

  test("lets the run be retried: the cleanup is not repeated, and the step that failed is tried again", async () => {
    const { world, done, run } = await play(twoParts);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    done.push("mended");
    expect(await world.ask((client) => client.retry(run.runId, { by: "ada" }))).toMatchObject({
      outcome: "retried",
      dropped: 2,
    });
    await world.pass("2 days");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", epoch: 1 });
    expect(done).toEqual(["unlock", "tell", "close", "mended", "ship", "told"]);
  });

  test("lets the run be retried where the error is the handler's own", async () => {
    const { world, done, run } = await play(async ({ step, done }) =>
      Promise.all([
        step.cleanup("release", async ({ step }) => {
          await step.sleep("settle", "1 minute");
          await step.run("tell", () => done.push("tell"));
        }),
        step.sleep("wait", "30s").then(() => {
          if (!done.includes("mended")) throw new Error("mine");
        }),
      ]),
    );
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { message: "mine" } });
    done.push("mended");
    expect(await world.ask((client) => client.retry(run.runId, { by: "ada" }))).toMatchObject({ outcome: "retried" });
    expect(await world.run(run)).toMatchObject({ status: "completed", epoch: 1 });
    expect(done).toEqual(["tell", "mended"]);
  });

  describe("beside a step at work that runs at most once", () => {
    type Handle = Parameters<typeof tried.handler>[0];

    async function charging(
      charge: (world: World) => Promise<unknown>,
      amid: (world: World, handle: Handle) => Promise<void> = async () => {},
    ) {
      const begun: string[] = [];
      const handle = async ({ step, world, done }: Told) => {
        const body = () => {
          begun.push("charge");
          return charge(world);
        };
        const charged = step.run("charge", body, { semantics: "at-most-once", timeout: "10 minutes" });
        return await Promise.all([charged, twoParts({ step, world, done })]);
      };
      const played = await play(handle, { processes: 2 });
      const { world, run, done } = played;
      await amid(world, async ({ step }) => handle({ step, world, done }));
      expect(await world.run(run)).toMatchObject({ status: "failed" });
      done.push("mended");
      return { ...played, begun };
    }

    test("keeps the retry away until somebody gives its result, where nobody knows it", async () => {
      const { world, run, begun } = await charging(() => new Promise<never>(() => {}));
      const retried = world.ask((client) => client.retry(run.runId));
      await expect(retried).rejects.toMatchObject({ code: "result_needed" });
      await world.ask((client) => client.retry(run.runId, { results: { charge: "paid" } }));
      await world.pass("2 days");
      expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
      expect(begun).toEqual(["charge"]);
    });

    test("keeps the retry away also where code is deployed amid the cleanup that catches the error", async () => {
      const { world, run, begun } = await charging(
        () => new Promise<never>(() => {}),
        async (world, handle) => {
          await world.pass("40s");
          const caught = tried.handler(async (context) => handle(context).catch(() => {}));
          await world.deploy({ workflows: [caught], deployment: { name: "world", id: "mended" } });
        },
      );
      const retried = world.ask((client) => client.retry(run.runId));
      await expect(retried).rejects.toMatchObject({ code: "result_needed" });
      expect(begun).toEqual(["charge"]);
    });

    test("keeps its result for a retry, where it has ended amid the cleanup", async () => {
      const { world, run, begun } = await charging((world) => world.foreign("40s"));
      await world.ask((client) => client.retry(run.runId));
      await world.pass("2 days");
      expect(await world.get(run.runId)).toMatchObject({ status: "completed" });
      expect(begun).toEqual(["charge"]);
    });
  });

  test("keeps the retry away where it has cancelled a run that the retry would wait for again", async () => {
    const child = workflow({ name: "child", version: 1 });
    const waiting = child.handler(({ step }) => step.sleep("long", "2 days"));
    const world: World = await World.begin(database, {
      workflows: [
        waiting,
        tried.handler(async ({ step }) => Promise.all([step.invoke("it", child), twoParts({ step, world, done: [] })])),
      ],
    });
    const run = await world.start(tried);
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({ code: "child_failed" });
  });

  test("comes before a cancel: the first reason to end wins", async () => {
    const { world, done, run } = await play(twoParts);
    await world.pass("40s");
    await expect(world.ask((client) => client.cancel(run.runId))).rejects.toMatchObject({ code: "not_applicable" });
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { name: "StepError" } });
    expect(done).toEqual(["unlock", "tell", "close"]);
  });
});
