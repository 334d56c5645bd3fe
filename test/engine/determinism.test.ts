/** Whatever a handler decides, it decides again in every replay. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedContext, tested, worldOf } from "./playing.ts";

const database = testDatabase();

/** Each turn replays; or goes on in memory. */
const passes = [
  ["in memory", {}],
  ["replayed at every turn", { warmRuns: 0 }],
] as const;

describe.each(passes)("now, random and uuid, %s,", (_, options) => {
  test("are the same whenever they are asked, and at no two places", async () => {
    const seen: unknown[][] = [];
    const { view, run } = await play(
      database,
      async ({ step, run: info }) => {
        const [uuids, randoms] = [[step.uuid(), step.uuid()], [step.random()]];
        const times = [step.now(), info.createdAt];
        await step.run("first", () => 0);
        await step.scope("room", async ({ step }) => uuids.push(step.uuid()));
        await step.sleep("nap", "1 hour");
        uuids.push(step.uuid());
        randoms.push(step.random());
        times.push(step.now());
        const result = [uuids, randoms, times];
        seen.push(result);
        await step.run("last", () => 0);
        return result;
      },
      options,
    );
    expect(view.status).toBe("completed");
    for (const each of seen) expect(view.result).toEqual(each);
    const [uuids = [], randoms = [], times = []] = seen[0] as [string[], number[], Date[]];
    expect(new Set(uuids).size).toBe(4);
    for (const uuid of uuids)
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(randoms).size).toBe(2);
    for (const random of randoms) expect(random >= 0 && random < 1).toBe(true);
    expect(times.map((time) => time.getTime() - Date.UTC(2026, 0, 1, 12))).toEqual([0, 0, 3_600_000]);
    expect(run.runId).not.toBe(uuids[0]);
  });
});

test("a uuid is the same before and after a crash, and in the step that it was made for", async () => {
  const given: string[] = [];
  const world = await worldOf(database, async ({ step }) => {
    const id = step.uuid();
    return step.run("charge", ({ attempt }) => {
      given.push(id);
      if (given.length === 1) return world.die();
      if (attempt === 1) throw new Error("again");
      return id;
    });
  });
  const run = await world.start(tested);
  const { status, result } = await world.run(run);
  expect(status).toBe("completed");
  expect(given).toHaveLength(3);
  expect(new Set(given)).toEqual(new Set([result]));
});

test("two runs have different uuids", async () => {
  const results = [];
  for (const _ of [1, 2]) results.push((await play(database, async ({ step }) => step.uuid())).view.result);
  expect(results[0]).not.toBe(results[1]);
});

describe.each(passes)("what came first stays first, %s:", (_, options) => {
  const winners = async (handle: (context: TestedContext) => Promise<string>) => {
    const decided: string[] = [];
    const { view } = await play(
      database,
      async (context) => {
        const winner = await handle(context);
        decided.push(winner);
        await context.step.run("after", () => 0);
        await context.step.sleep("nap", "1 hour");
        return winner;
      },
      options,
    );
    expect(view.status).toBe("completed");
    expect(new Set(decided)).toEqual(new Set([view.result]));
    return view.result;
  };

  // The long chain has only resolved promises between its step and its end: the record order must decide, not they.
  test("a race of a long chain against a short one", async () => {
    const chain = async (promise: Promise<string>) => {
      let value = await promise;
      for (let link = 0; link < 100; link += 1) value = await Promise.resolve(value);
      return value;
    };
    expect(
      await winners(({ step }) =>
        Promise.race([chain(step.run("long", () => "long")), step.run("short", () => "short")]),
      ),
    ).toBe("long");
  });

  test("a race of a long chain against a short one, of branches", async () => {
    const winner = await winners(({ step }) =>
      step.race("first", [
        async ({ step }) => {
          for (let link = 0; link < 5; link += 1) await step.run("link", () => 0);
          return "long";
        },
        async ({ step }) => {
          await step.sleep("nap", "10s");
          return "short";
        },
      ]),
    );
    expect(winner).toBe("long");
  });

  test("the first of two that are done before anybody looks", async () => {
    expect(
      await winners(({ step }) =>
        Promise.any([step.run("a", () => "a"), step.run("b", () => "b"), step.run("c", () => "c")]),
      ),
    ).toBe("a");
  });
});

test.each(passes)("branches that ask for the same name get what was theirs, %s", async (_, options) => {
  const { view, world, run } = await play(
    database,
    async ({ step }) => {
      const branch = async (letter: string, ms: number) => {
        await step.sleep(`nap ${letter}`, ms);
        const first = await step.run("it", () => `${letter}1`);
        await step.sleep(`nap ${letter}`, 100);
        return `${first} ${await step.run("it", () => `${letter}2`)}`;
      };
      return Promise.all([branch("a", 50), branch("b", 20), branch("c", 0)]);
    },
    options,
  );
  expect(view.result).toEqual(["a1 a2", "b1 b2", "c1 c2"]);
  const { records } = await world.history(run);
  const its = records.filter(({ path }) => path === "it");
  expect(its.map(({ occurrence, value }) => `${occurrence} ${value}`)).toEqual([
    "1 c1",
    "2 b1",
    "3 a1",
    "4 c2",
    "5 b2",
    "6 a2",
  ]);
});

describe("what a handler awaits that is no step", () => {
  test.each(passes)("is well while it is short and alone, %s", async (_, options) => {
    const { view } = await play(
      database,
      async ({ step }, world) => {
        await world.foreign("900ms");
        const a = await step.run("a", () => 1);
        await world.foreign("900ms");
        await step.sleep("nap", "1 hour");
        await world.foreign("500ms");
        const b = await Promise.all([step.run("b", () => 2), step.run("c", () => 3)]);
        await world.foreign("500ms");
        return [a, ...b];
      },
      options,
    );
    expect(view).toMatchObject({ status: "completed", result: [1, 2, 3], blocked: undefined });
  });

  test("blocks the run when a step comes of it while another waits", async () => {
    const { view } = await play(database, async ({ step }, world) =>
      Promise.all([
        step.run("a", async () => world.foreign("2s")),
        world.foreign("500ms").then(() => step.run("b", () => 1)),
      ]),
    );
    expect(view.status).toBe("blocked");
    expect(view.blocked).toBe(
      "b was asked for while the run waited for something else: the code before it awaits something that is no step, or the body of step a uses `step`",
    );
  });

  test("fails a step in whose body another one is asked for", async () => {
    const { view } = await play(database, async ({ step }) =>
      step.run("outer", async () => {
        await Promise.race([step.run("inner", () => 1), Promise.resolve().then(() => {})]);
        return 1;
      }),
    );
    expect(view).toMatchObject({ status: "failed", error: { cause: { code: "nested_step" } } });
  });
});
