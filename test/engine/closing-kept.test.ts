/** A run that closes, and whose newly deployed code does not end any more: closing is law, so it ends as its first code has ended. */
import { NonRetryableError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, doubling, familiesOn } from "./families.ts";
import { type TestedHandler, type TestedStep, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();
const family = familiesOn(database);
const deployment = { name: "world", id: "new" };
const no = () => Promise.reject(new NonRetryableError("sold out"));

/** Two steps beside each other: `reserve` fails while `charge` is at work. */
function shop(world: () => World) {
  const done: string[] = [];
  const act = (step: TestedStep) =>
    Promise.all([
      step.run("charge", () => world().foreign("2 minutes"), {
        timeout: "10 minutes",
        compensate: (_, { outcome }) => void done.push(`undo charge: ${outcome}`),
      }),
      step.run("reserve", no),
    ]);
  return { done, act };
}

interface Deployed {
  readonly world: World;
  readonly run: { readonly runId: string };
  readonly done: readonly string[];
}

/** A run that closes, since `charge` is at work. Then code is deployed that catches the failure, and goes on so. */
async function caught(
  goesOn: TestedHandler,
  before: (world: World) => Promise<unknown> = async () => {},
): Promise<Deployed> {
  const { done, act } = shop(() => world);
  const world: World = await family(async ({ step }) => void (await act(step)));
  const run = await world.start(tested);
  await world.pass("30 seconds");
  expect(await world.get(run.runId)).toMatchObject({ status: "compensating" });
  await before(world);
  const handler = tested.handler(async (context) => {
    await act(context.step).catch(() => {});
    return await goesOn(context);
  });
  await world.deploy({ workflows: [handler, doubling], deployment });
  return { world, run, done };
}

const failed = { status: "failed", error: { cause: { message: "sold out" } } };

describe("a run that closes, and whose new code catches the failure,", () => {
  test.each<readonly [what: string, goesOn: TestedHandler]>([
    ["returns a value", async () => "never mind"],
    ["throws another error", async () => Promise.reject(new Error("another"))],
    ["carries out another step", async ({ step }) => step.run("again", () => "again")],
    ["waits for a signal", async ({ step }) => step.waitForSignal("go")],
    ["sleeps for long", async ({ step }) => step.sleep("nap", "10 days")],
    ["awaits something of its own", async () => new Promise(() => {})],
    ["continues as new", async ({ step }) => step.continueAsNew(undefined)],
  ])("fails by its first error, and undoes what it did, where the code %s", async (_, goesOn) => {
    const { world, run, done } = await caught(goesOn);
    await world.pass("1 hour");
    expect(await world.get(run.runId)).toMatchObject({ ...failed, undos: { owed: 1, done: 1, failed: 0 } });
    const { records } = await world.history(run);
    expect(records.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "step reserve",
      "ending ",
      "step [undo]/charge",
    ]);
    expect(done).toEqual(["undo charge: unknown"]);
  });

  test("invokes no other run", async () => {
    const { world, run } = await caught(({ step }) => step.invoke("it", child, { nr: 1 }));
    expect(await world.run(run)).toMatchObject(failed);
    expect(await childrenOf(world)).toEqual([]);
  });

  test("is not cancelled, since the first reason to end wins", async () => {
    const { world, run } = await caught(({ step }) => step.waitForSignal("go"));
    await expect(world.ask((client) => client.cancel(run.runId))).rejects.toMatchObject({ code: "not_applicable" });
    expect(await world.run(run)).toMatchObject(failed);
  });

  test("does not end by its timeout, which came later", async () => {
    const { act } = shop(() => world);
    const timed = workflow({ name: "timed", version: 1, timeout: "3 minutes" });
    const handler = timed.handler(async ({ step }) => void (await act(step)));
    const world: World = await World.begin(database, { workflows: [handler] });
    const run = await world.start(timed);
    await world.pass("30 seconds");
    const going = timed.handler(async ({ step }) => {
      await act(step).catch(() => {});
      await step.sleep("nap", "10 days");
    });
    await world.deploy({ workflows: [going], deployment });
    await world.pass("1 hour");
    expect(await world.get(run.runId)).toMatchObject(failed);
  });

  test("is retried by what failed it first", async () => {
    let isBroken = true;
    let charges = 0;
    const charge = () => {
      charges += 1;
      return world.foreign("2 minutes");
    };
    const act = (step: TestedStep) =>
      Promise.all([
        step.run("charge", charge, { timeout: "10 minutes", semantics: "at-most-once" }),
        step.run("reserve", () => (isBroken ? no() : "reserved")),
      ]);
    const world: World = await family(({ step }) => act(step));
    const run = await world.start(tested);
    await world.pass("30 seconds");
    const handler = tested.handler(async ({ step }) => act(step).catch(() => step.run("thank", () => "thanked")));
    await world.deploy({ workflows: [handler, doubling], deployment });
    expect(await world.run(run)).toMatchObject(failed);
    isBroken = false;
    await expect(world.ask((client) => client.retry(run.runId))).rejects.toMatchObject({ code: "result_needed" });
    await world.ask((client) => client.retry(run.runId, { results: { charge: "paid" } }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["paid", "reserved"] });
    expect(charges).toBe(1);
  });
});

describe("a run that a release has closed which does not keep how it ends", () => {
  const forget = (world: World) =>
    database.pool.query(
      `update layover.run_state set ends_as = null where namespace = $1 and ends_as->>'next' = 'failed'`,
      [world.namespace],
    );

  test("ends as its code ends", async () => {
    const { world, run, done } = await caught(() => no(), forget);
    expect(await world.run(run)).toMatchObject({ status: "failed", error: { message: "sold out" } });
    expect(done).toEqual(["undo charge: unknown"]);
  });

  test("is blocked by code that goes on, and ends once there is code that does not", async () => {
    const { world, run } = await caught(({ step }) => step.invoke("it", child, { nr: 1 }), forget);
    expect(await world.run(run)).toMatchObject({ status: "blocked", blocked: expect.stringContaining("had ended") });
    expect(await childrenOf(world)).toEqual([]);
    const { act, done } = shop(() => world);
    const handler = tested.handler(async ({ step }) => void (await act(step)));
    await world.deploy({ workflows: [handler, doubling], deployment: { name: "world", id: "mended" } });
    expect(await world.run(run)).toMatchObject({ ...failed, undos: { owed: 1, done: 1 } });
    expect(done).toEqual(["undo charge: unknown"]);
  });
});
