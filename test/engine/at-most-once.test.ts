/** Steps that run at most once: their beginning is written down before their body begins. */
import { LayoverError, StepError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedContext, type TestedHandler, type TestedStep, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";
import type { Fate } from "./world-options.ts";

const database = testDatabase();

type Options = NonNullable<Parameters<TestedStep["run"]>[2]>;
type Act = (step: Pick<TestedStep, "run">) => Promise<unknown>;
const atMostOnce = { semantics: "at-most-once" } as const;

/** Where a step may stand. */
const places: Readonly<Record<string, (context: TestedContext, act: Act) => Promise<unknown>>> = {
  "the run's own turn": ({ step }, act) => act(step),
  "a branch": ({ step }, act) => Promise.all([act(step), step.run("quick", () => 1)]),
  "a map": ({ step }, act) => step.map("all", ["a"], (_, { step }) => act(step), { maxConcurrency: 1 }),
  "a race": ({ step }, act) =>
    step.race("first", [({ step }) => act(step), ({ step }) => step.sleep("nap", "10 days")]),
  "a cleanup": ({ step }, act) => step.cleanup("tidy", ({ step }) => act(step)),
};

/** Keeps how often the body began, and how the step ended for the handler. */
function aFax(body: (times: number, world: World) => unknown, options: Options = {}) {
  const told = { bodies: 0, attempts: [] as number[], errors: [] as unknown[] };
  const actIn =
    (world: World): Act =>
    async (step) => {
      try {
        return await step.run(
          "fax",
          ({ attempt }) => {
            told.attempts.push(attempt);
            return body(++told.bodies, world);
          },
          { ...atMostOnce, ...options },
        );
      } catch (error) {
        if (error instanceof StepError) told.errors.push([error.cause.code ?? error.cause.message, error.attempts]);
        throw error;
      }
    };
  return { told, actIn };
}

test("a step that runs at most once has its result, though the loser of a race is recorded meanwhile", async () => {
  let bodies = 0;
  const world = await worldOf(
    database,
    async ({ step }) => {
      // The other process has the loser at work, so this one has the run in memory when it learns of the winner.
      await step.race("first", [
        ({ step }) => step.run("slow", () => world.foreign("30s")),
        ({ step }) => step.run("quick", () => "q"),
        ({ step }) => step.run("third", () => "t"),
      ]);
      const body = async () => {
        bodies += 1;
        await world.foreign("50s");
        return "sent";
      };
      return await step.run("fax", body, { ...atMostOnce, timeout: "2 minutes" });
    },
    { processes: 2, batch: 1, warmRuns: 10 },
  );
  const run = await world.start(tested);
  await world.pass("5 minutes");
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "sent" });
  expect(bodies).toBe(1);
});

describe.each(Object.entries(places))("a step that runs at most once, in %s", (_, stand) => {
  test("is not run again when its process died: it fails as interrupted", async () => {
    const { told, actIn } = aFax((_, world) => world.die());
    const { view } = await play(database, (context, world) => stand(context, actIn(world)));
    expect(view.status).toBe("failed");
    expect(told).toMatchObject({ bodies: 1, errors: expect.arrayContaining([["interrupted", 1]]) });
  });

  test("is not run again when its process gave its lease back: it fails as interrupted", async () => {
    const { told, actIn } = aFax(() => new Promise(() => {}));
    const world: World = await worldOf(database, (context) => stand(context, actIn(world)), { platform: "node" });
    const run = await world.start(tested);
    await world.pass("5s");
    expect(told.bodies).toBe(1);
    await world.giveBack();
    world.crash();
    expect((await world.run(run)).status).toBe("failed");
    expect(told).toMatchObject({ bodies: 1, errors: expect.arrayContaining([["interrupted", 1]]) });
  });

  test("has one attempt, and with retry as many as that says", async () => {
    for (const [retry, count] of [
      [undefined, 1],
      [{ maxAttempts: 3 }, 3],
    ] as const) {
      const { told, actIn } = aFax(() => Promise.reject(new Error("no")), retry === undefined ? {} : { retry });
      const { view } = await play(database, (context, world) => stand(context, actIn(world)));
      expect([view.status, told.bodies, told.errors[0]]).toEqual(["failed", count, ["no", count]]);
    }
  });

  test("has another attempt after one that was interrupted, where retry is given", async () => {
    const { told, actIn } = aFax((times, world) => (times === 1 ? world.die() : "sent"), { retry: { maxAttempts: 2 } });
    const { view, world, run } = await play(database, (context, world) => stand(context, actIn(world)));
    expect([view.status, told.attempts, told.errors]).toEqual(["completed", [1, 2], []]);
    const { attempts } = await world.history(run);
    expect(attempts).toEqual([
      expect.objectContaining({ number: 1, error: expect.objectContaining({ code: "interrupted" }) }),
    ]);
  });

  test("succeeds like any other step, for one call to the database more", async () => {
    const calls = async (options: Options) => {
      const { told, actIn } = aFax(() => "sent", options);
      const { view, world } = await play(database, (context, world) => stand(context, actIn(world)));
      expect([view.status, told.attempts]).toEqual(["completed", [1]]);
      return world.statements();
    };
    expect(await calls({})).toBe((await calls({ semantics: "at-least-once" })) + 1);
  });

  test.each(["fails before", "fails after"] as const)(
    "does not begin while nobody knows whether its beginning is written down: the call %s",
    async (fate) => {
      const { told, actIn } = aFax(() => "sent");
      const world: World = await worldOf(database, (context) => stand(context, actIn(world)));
      let isOut = true;
      world.fate = ({ what }) => (isOut && what === "renew_leases" ? fate : "passes");
      const run = await world.start(tested);
      await world.pass("10s");
      expect(told.bodies).toBe(0);
      isOut = false;
      const view = await world.run(run);
      // Whoever finds the beginning cannot know that the body did not follow.
      const isWritten = fate === "fails after";
      expect([view.status, told.bodies]).toEqual(isWritten ? ["failed", 0] : ["completed", 1]);
    },
  );

  test("does not begin where somebody else has the turn", async () => {
    const { told, actIn } = aFax(() => "sent");
    const world: World = await worldOf(database, (context) => stand(context, actIn(world)), { processes: 2 });
    let isFirst = true;
    world.fate = async ({ what }): Promise<Fate> => {
      if (what === "renew_leases" && isFirst) {
        isFirst = false;
        const late = "update layover.%s set token = gen_random_uuid() where token is not null";
        for (const table of ["run_state", "pending"]) await database.pool.query(late.replace("%s", table));
      }
      return "passes";
    };
    const run = await world.start(tested);
    await world.pass("10s");
    expect([isFirst, told.bodies]).toEqual([false, 0]);
    expect([(await world.run(run)).status, told.bodies]).toEqual(["completed", 1]);
  });
});

test("an undo is owed for a step that was interrupted, and is told so", async () => {
  const told: unknown[] = [];
  const { view } = await play(database, ({ step }, world) =>
    step.run("fax", () => world.die(), {
      ...atMostOnce,
      compensate: (result, { outcome, error }) => void told.push([result, outcome, error?.code]),
    }),
  );
  expect([view.status, told]).toEqual(["failed", [[undefined, "unknown", "interrupted"]]]);
});

test("a step that was interrupted fails also where new code asks for another one beside it", async () => {
  const bodies: string[] = [];
  const handle =
    (isNew: boolean): TestedHandler =>
    async ({ step }) => {
      const fax = step.run(
        "fax",
        () => {
          bodies.push("fax");
          return new Promise(() => {});
        },
        atMostOnce,
      );
      const failure = (error: StepError) => error.cause.code;
      if (!isNew) return await fax;
      return await Promise.all([
        fax.catch(failure),
        step.run("mail", () => bodies.push("mail")),
        step.sleep("nap", "1s"),
      ]);
    };
  const world = await worldOf(database, handle(false));
  const run = await world.start(tested);
  await world.pass("5s");
  await world.deploy({ workflows: [tested.handler(handle(true))] });
  const { status, result } = await world.run(run);
  expect([status, result, bodies]).toEqual(["completed", ["interrupted", 2, undefined], ["fax", "mail"]]);
});

test.each(["blocked", "set back"])("a beginning is not forgotten while its run is %s by other code", async (how) => {
  let bodies = 0;
  const right: TestedHandler = async ({ step }) => {
    await step.run("before", () => 1);
    await step.run("fax", () => (++bodies === 1 ? new Promise(() => {}) : "sent"), atMostOnce);
  };
  const wrong: TestedHandler = async ({ step }) => {
    if (how === "set back") await new Promise(() => {});
    await step.run("other", () => 1);
  };
  const world = await worldOf(database, right);
  const run = await world.start(tested);
  await world.pass("5s");
  await world.deploy({ workflows: [tested.handler(wrong)] });
  await world.pass("10 minutes");
  await world.deploy({ workflows: [tested.handler(right)] });
  const view = await world.run(run);
  expect([view.status, view.error?.cause, bodies]).toEqual([
    "failed",
    expect.objectContaining({ code: "interrupted" }),
    1,
  ]);
});

test("the step after one that runs at most once has a beginning of its own", async () => {
  const bodies: string[] = [];
  const { view } = await play(
    database,
    async ({ step }, world) => {
      for (const name of ["a", "b", "a"])
        await step.run(name, () => (bodies.push(name) === 3 ? world.die() : 0), {
          ...atMostOnce,
          retry: { maxAttempts: 2 },
        });
    },
    { invocation: { maxSteps: 10 } },
  );
  expect([view.status, bodies]).toEqual(["completed", ["a", "b", "a", "a"]]);
});

test("semantics that do not exist are refused", async () => {
  const { view } = await play(database, ({ step }) => {
    const options: object = { semantics: "once" };
    return step
      .run("fax", () => 1, options)
      .catch((error: unknown) => {
        expect(error).toBeInstanceOf(LayoverError);
        throw error;
      });
  });
  expect(view).toMatchObject({ status: "failed", error: { code: "invalid_request" } });
});

test("a step that its run's timeout ended is not run again, also if the database's clock is set back then", async () => {
  let bodies = 0;
  const brief = workflow({ name: "brief", version: 1, timeout: "30s" });
  const handle = brief.handler(({ step }) =>
    step.run("fax", () => (++bodies === 1 ? world.foreign("65s") : undefined), atMostOnce),
  );
  const world: World = await World.begin(database, { workflows: [handle] });
  const run = await world.start(brief);
  let hasEnded = false;
  let isSetBack = false;
  world.fate = async ({ what }): Promise<Fate> => {
    hasEnded ||= what === "finish_turns";
    if (what === "claim_turns" && hasEnded && !isSetBack) {
      isSetBack = true;
      await world.setClock(-300_000);
    }
    return "passes";
  };
  const { status } = await world.run(run);
  expect([status, isSetBack, bodies]).toEqual(["failed", true, 1]);
});
