/** Two deployments of other code beside each other on one database: a rolling deploy, a canary, a rollback. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { type TestedHandler, tested } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

const older: TestedHandler = async ({ step }) => {
  await step.run("charge", () => "c1");
  return await step.waitForSignal("go");
};
/** The older handler with a step more at the end, and something to wait for after it. */
const newer: TestedHandler = async ({ step }) => {
  await step.run("charge", () => "c1");
  await step.waitForSignal("go");
  const receipt = await step.run("receipt", () => "r1");
  await step.waitForSignal("other");
  return receipt;
};
const broken: TestedHandler = async ({ step }) => await step.run("pay", () => "p1");

const build = (id: string, handle: TestedHandler, name = "server") => ({
  deployment: { name, id },
  workflows: [tested.handler(handle)],
});

/** Begins a world with two deployments, each of which has ticked once. */
async function aRollingDeploy(from: TestedHandler, to: TestedHandler, { name = "server" } = {}): Promise<World> {
  const world = await World.begin(database, { ...build("old", from), beside: [build("new", to, name)] });
  for (const id of ["old", "new"]) {
    await world.pass("1s");
    world.served = id;
    await world.tick();
  }
  return world;
}

describe("a run whose history newer code has written", () => {
  const aRun = async () => {
    const world = await aRollingDeploy(older, newer);
    const run = await world.start(tested);
    await world.signal(run, tested, "go", 1);
    await world.settle();
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting", records: 3 });
    return { world, run };
  };
  const aRunOfferedToOlderCode = async (time: Parameters<World["pass"]>[0]) => {
    const { world, run } = await aRun();
    world.served = "old";
    await world.signal(run, tested, "other", 2);
    await world.pass(time);
    return { world, run };
  };

  test("is not blocked when older code gets its next signal, and goes on where the newer code is", async () => {
    const { world, run } = await aRunOfferedToOlderCode("30 minutes");
    expect(await world.get(run.runId)).toMatchObject({
      status: "queued",
      blocked: undefined,
      refusedBy: [{ deployment: "old", why: expect.stringMatching(/^the history holds step receipt at position 3/) }],
    });

    world.served = "new";
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: "r1" });
    expect(world.errors).toEqual([]);
  });

  test("is offered each minute by the code that refused it, and its refusals do not put that off", async () => {
    const { world } = await aRunOfferedToOlderCode("10 minutes");
    const before = world.statements("claim_turns");
    await world.pass("30 minutes");
    expect(world.statements("claim_turns") - before).toBeGreaterThanOrEqual(29);
    expect(world.statements("claim_turns") - before).toBeLessThanOrEqual(31);
  });

  test("goes on at once where the next turn is delivered to either", async () => {
    const { world, run } = await aRun();
    world.served = "old";
    const { runId } = run;
    await world.ask((client) => client.signal(runId, "other", 2, { contract: tested }));
    world.served = undefined;
    await world.pass("3 minutes");
    expect(await world.get(runId)).toMatchObject({ status: "completed" });
  });

  test("is blocked with the reason when the code that fits is gone, and goes on when that comes back", async () => {
    const { world, run } = await aRunOfferedToOlderCode("3 hours");
    expect(await world.get(run.runId)).toMatchObject({
      status: "blocked",
      dueAt: undefined,
      blocked: expect.stringMatching(/^the history holds step receipt/),
    });
    const before = world.calls.length;
    await world.pass("1 hour");
    expect(world.calls.length).toBe(before);

    world.served = "new";
    await world.tick();
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });
});

test("a run whose newer code waits for something at the end does not end by older code", async () => {
  const world = await aRollingDeploy(
    async ({ step }) => await step.waitForSignal("go"),
    async ({ step }) => [await step.waitForSignal("go"), await step.waitForSignal("other")],
  );
  const run = await world.start(tested);
  await world.signal(run, tested, "go", 1);
  await world.settle();
  world.served = "old";
  await world.signal(run, tested, "other", 2);
  await world.pass("5 minutes");
  expect(await world.get(run.runId)).toMatchObject({
    status: "queued",
    refusedBy: [{ deployment: "old", why: "the run waits for signal other, which the code does not ask for" }],
  });
  world.served = "new";
  await world.pass("2 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: [1, 2] });
});

test("a branch that older code does not ask for is left to the code that does", async () => {
  const world = await aRollingDeploy(
    async ({ step }) => await Promise.all([step.run("a", () => 1), step.waitForSignal("go")]),
    async ({ step }) => await Promise.all([step.run("a", () => 1), step.run("b", () => 2), step.waitForSignal("go")]),
  );
  const run = await world.start(tested);
  world.fate = ({ what }) => {
    if (what === "finish_turns") world.served = "old"; // and so it gets the branches
    return "passes";
  };
  await world.pass("5 minutes");
  expect(await world.get(run.runId)).toMatchObject({
    blocked: undefined,
    records: 1,
    refusedBy: [{ deployment: "old" }],
  });
  world.fate = () => "passes";
  world.served = "new";
  await world.signal(run, tested, "go", 3);
  await world.pass("5 minutes");
  expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: [1, 2, 3] });
});

describe("a run that all live code refuses", () => {
  test("is blocked at once where one deployment is alive", async () => {
    const world = await World.begin(database, build("old", older));
    await world.tick();
    const run = await world.start(tested);
    await world.pass("3 hours");
    await world.deploy(build("new", broken));
    await world.signal(run, tested, "go", 5);
    await world.settle();
    expect(await world.get(run.runId)).toMatchObject({
      status: "blocked",
      blocked: "the history holds step charge at position 1, where the code asks for step pay",
      refusedBy: [{ deployment: "new" }],
    });
  });

  test("is blocked when the last one has refused it, and is tried by a third", async () => {
    const world = await World.begin(database, build("old", older));
    const run = await world.start(tested);
    await world.pass("3 hours");
    await world.deploy({ ...build("new", broken), beside: [build("other", broken, "elsewhere")] });
    world.served = "other";
    await world.tick();
    world.served = "new";
    await world.signal(run, tested, "go", 5);
    await world.pass("3 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "queued", refusedBy: [{ deployment: "new" }] });
    world.served = "other";
    await world.pass("1 minute");
    expect(await world.get(run.runId)).toMatchObject({
      status: "blocked",
      refusedBy: [{ deployment: "new" }, { deployment: "other" }],
    });
    world.served = undefined;
    await world.deploy({ ...build("fix", older), beside: [] });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: 5 });
  });

  test("is tried again by each that is deployed: forward to a fix, or back", async () => {
    for (const id of ["fix", "old"]) {
      const world = await World.begin(database, build("old", older));
      await world.tick();
      const run = await world.start(tested);
      await world.pass("3 hours");
      await world.deploy(build("new", broken));
      await world.signal(run, tested, "go", 5);
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
      await world.deploy(build(id, older));
      expect(await world.run(run)).toMatchObject({ status: "completed", result: 5 });
    }
  });

  test("is tried again after each claim that is lost, by the code that was deployed to mend it", async () => {
    const world = await World.begin(database, build("old", older));
    const run = await world.start(tested);
    await world.pass("3 hours");
    await world.deploy(build("new", broken));
    await world.signal(run, tested, "go", 5);
    expect(await world.run(run)).toMatchObject({ status: "blocked", dueAt: undefined });
    world.fate = ({ what }) => (what === "claim_turns" ? "fails before" : "passes");
    await world.deploy(build("fix", older));
    await world.pass("10 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "blocked", dueAt: expect.any(Date) });
    world.fate = () => "passes";
    await world.pass("20 minutes");
    expect(await world.get(run.runId)).toMatchObject({ status: "completed", result: 5 });
  });

  test("is left alone again when the code that was to mend it is gone", async () => {
    const world = await World.begin(database, build("old", older));
    const run = await world.start(tested);
    await world.pass("3 hours");
    await world.deploy(build("new", broken));
    await world.signal(run, tested, "go", 5);
    expect(await world.run(run)).toMatchObject({ status: "blocked" });
    world.fate = ({ what }) => (what === "claim_turns" ? "fails before" : "passes");
    await world.deploy(build("fix", older));
    await world.pass("10 minutes");
    world.fate = () => "passes";
    await world.deploy(build("new", broken));
    await world.pass("4 hours");
    expect(await world.get(run.runId)).toMatchObject({ status: "blocked", dueAt: undefined });
    const calls = world.calls.length;
    await world.pass("1 day");
    expect(world.statements() - calls).toBeLessThan(10);
  });
});

describe("two deployments that tick in turns", () => {
  test("are new once each, and put off what nobody claims as one would", async () => {
    const world = await aRollingDeploy(older, older);
    const run = await world.start(tested);
    world.served = undefined;
    world.fate = ({ what }) => (what === "claim_turns" ? "fails before" : "passes");
    await world.pass("1 minute");
    const { rows } = await database.pool.query("select looked_at from layover.deployment where namespace = $1", [
      world.namespace,
    ]);
    expect(rows).toHaveLength(2);
    const dispatches = async () => {
      const { rows } = await database.pool.query("select dispatches from layover.run_state where run_id = $1", [
        run.runId,
      ]);
      return rows[0]?.dispatches;
    };
    await world.pass("4 hours");
    expect(await dispatches()).toBeGreaterThanOrEqual(7);
    expect(world.statements("note_deployment")).toBeLessThanOrEqual(4 + 2 * 4);
  });
});
