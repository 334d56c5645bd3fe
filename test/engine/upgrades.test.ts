/** A run that is moved to another version of its workflow: whose code goes on with it, and when. */
import { workflow } from "layover";
import { signal } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { upgradeRun } from "../../src/client/over-postgres/upgrades.ts";
import { signatureOf } from "../../src/core/contract/signature.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import { deliver } from "../delivering.ts";
import { testDatabase } from "../postgres/database.ts";
import { World } from "./world.ts";
import type { WorldOptions } from "./world-options.ts";

const database = testDatabase();
const signals = { go: z.string() };
const contracts = [1, 2].map((version) => workflow({ name: "trip", version, signals }));
const [first, second] = contracts as [(typeof contracts)[0], (typeof contracts)[0]];
type Handler = Parameters<typeof first.handler>[0];

/** Both versions are carried out by `handle`, which is told which one it is. */
function worldOf(
  handle: (version: number, ...context: Parameters<Handler>) => Promise<unknown>,
  options: Partial<WorldOptions> = {},
): Promise<World> {
  const workflows = contracts.map((contract) => contract.handler((context) => handle(contract.version, context)));
  return World.begin(database, { workflows, ...options });
}

async function look(world: World, { runId }: { readonly runId: string }) {
  const calls = makeCalls({ query: database.query, namespace: world.namespace, alarm: async () => {} });
  const mail = await calls.readMail({ runId });
  if (mail.outcome !== "read") throw new Error("there is no such run");
  const { epoch, turn, position, lastMail } = mail;
  return {
    from: 1,
    to: 2,
    signature: signatureOf(second),
    epoch,
    turn,
    position,
    lastMail,
    callId: world.chance.uuid(),
  };
}

async function move(world: World, run: { readonly runId: string }, looked?: Awaited<ReturnType<typeof look>>) {
  const terms = looked ?? (await look(world, run));
  return await world.ask((client) => client.within((context) => upgradeRun(context, run.runId, terms)));
}

describe("a run that is moved to another version", () => {
  test("goes on with its code, although the process still has the old code's handler in memory", async () => {
    const bodies: string[] = [];
    const world = await worldOf(async (version, { step }) => {
      await step.run("pack", () => void bodies.push(`pack ${version}`));
      await step.sleep("nap", "1 hour");
      await step.run("drive", () => void bodies.push(`drive ${version}`));
    });
    const run = await world.start(first);
    await world.pass("10 minutes");
    expect(await move(world, run)).toEqual({ runId: run.runId, outcome: "upgraded" });
    expect(await world.run(run)).toMatchObject({ status: "completed", version: 2 });
    expect(bodies).toEqual(["pack 1", "drive 2"]);
    expect((await world.history(run)).operations).toMatchObject([{ verb: "upgrade", verdict: "upgraded" }]);
    expect(world.time).toBeLessThan(3_700_000);
  });

  test("carries out by its code the branches that were demanded by the old code", async () => {
    const bodies: string[] = [];
    const world = await worldOf(async (version, { step }) => {
      const pay = (name: string) =>
        step.run(
          name,
          () => {
            bodies.push(`${name} ${version}`);
            if (version === 1) throw new Error("their API is down");
          },
          { retry: { delay: "10 minutes", jitter: false, maxAttempts: 3 } },
        );
      await Promise.all([pay("hotel"), pay("flight")]);
    });
    const run = await world.start(first);
    await world.pass("1 minute");
    await move(world, run);
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(bodies.toSorted()).toEqual(["flight 1", "flight 2", "hotel 1", "hotel 2"]);
  });

  test.each([false, true])(
    "is no longer blocked, and goes on within two minutes; its dispatch is lost: %s",
    async (isLost) => {
      let isOther = false;
      const world = await worldOf(
        async (version, { step }) => {
          if (version === 1 && isOther) await step.run("unpack", () => {});
          await step.run("pack", () => {});
          await step.waitForSignal("go");
        },
        { warmRuns: 0 },
      );
      const run = await world.start(first);
      await world.settle();
      isOther = true;
      await world.signal(run, first, "go", "now");
      expect(await world.run(run)).toMatchObject({ status: "blocked" });
      const before = world.time;
      world.fate = ({ port }) => (isLost && port === "dispatch" ? "fails before" : "passes");
      await move(world, run);
      world.fate = () => "passes";
      expect(await world.run(run)).toMatchObject({ status: "completed", version: 2 });
      expect(world.time - before).toBeLessThanOrEqual(isLost ? 121_000 : 1_000);
    },
  );

  test("before its first turn, which takes what a sender has delivered before the run was there", async () => {
    const world = await worldOf((_, { step }) => step.waitForSignal("go", { timeout: 0, onTimeout: "null" }));
    await world.ask((client) =>
      client.within((context) =>
        deliver(context, { webhook: "shop", delivery: "d1" }, [signal(first, { id: "t1" }, "go", "early")]),
      ),
    );
    await world.pass("10 minutes"); // from now on the scheduler looks at it when it expires, and not before
    const run = await world.ask((client) => client.start(first, undefined, { id: "t1", delay: "1 hour" }));
    expect(await move(world, run)).toMatchObject({ outcome: "upgraded" });
    expect(await world.run(run)).toMatchObject({ status: "completed", version: 2, result: "early" });
  });

  test("that only waits for a signal is looked at by nobody before it comes", async () => {
    const world = await worldOf((_, { step }) => step.waitForSignal("go"));
    const run = await world.start(first);
    await world.pass("10 minutes");
    await move(world, run);
    await world.pass("10 minutes"); // the alarm of the move itself
    const before = world.statements();
    await world.pass("5 days");
    expect(world.statements()).toBe(before);
    await world.signal(run, second, "go", "now");
    expect(await world.run(run)).toMatchObject({ status: "completed" });
  });

  test.each(["fails after", "dies after", "fails before", "dies before"] as const)(
    "is moved once, and a call that %s is sent again",
    async (fate) => {
      const world = await worldOf(async (version, { step }) => {
        await step.sleep("nap", "1 hour");
        return version;
      });
      const run = await world.start(first);
      await world.pass("10 minutes");
      const looked = await look(world, run);
      let isFirst = true;
      world.fate = ({ what }) => {
        if (what !== "upgrade_run" || !isFirst) return "passes";
        isFirst = false;
        return fate;
      };
      await move(world, run, looked).catch(() => move(world, run, looked));
      expect(await world.run(run)).toMatchObject({ status: "completed", version: 2 });
      expect((await world.history(run)).operations).toHaveLength(1);
    },
  );
});

describe("a run that is looked at for a move", () => {
  const waiting = () =>
    worldOf(async (version, { step }) => {
      await step.sleep("nap", "1 hour");
      await step.waitForSignal("go");
      return version;
    });

  test.each([
    ["has gone on", (world: World) => world.pass("2 hours")],
    ["was sent a signal", (world: World, run: { readonly runId: string }) => world.signal(run, first, "go", "now")],
  ])("and %s meanwhile stays as it is", async (_, happens) => {
    const world = await waiting();
    const run = await world.start(first);
    await world.pass("10 minutes");
    const looked = await look(world, run);
    await happens(world, run);
    expect(await move(world, run, looked)).toEqual({ runId: run.runId, outcome: "moved_on" });
    expect((await world.history(run)).operations).toEqual([]);
    await world.pass("2 hours");
    expect(await world.get(run.runId)).toMatchObject({ version: 1 });
  });

  test("and is cancelled meanwhile stays as it is", async () => {
    const world = await waiting();
    const run = await world.start(first);
    await world.pass("10 minutes");
    const looked = await look(world, run);
    await world.ask((client) => client.cancel(run.runId));
    await expect(move(world, run, looked)).rejects.toMatchObject({ code: "not_applicable" });
    expect(await world.run(run)).toMatchObject({ status: "cancelled", version: 1 });
  });

  test("stays as it is where no deployment carries the other version", async () => {
    const options = {
      deployment: { id: "d1", name: "one" },
      workflows: [first.handler(({ step }) => step.waitForSignal("go"))],
    };
    const world = await World.begin(database, options);
    await world.tick({ isFirst: true });
    const run = await world.start(first);
    await world.settle();
    await expect(move(world, run)).rejects.toMatchObject({
      code: "not_applicable",
      message: expect.stringContaining("no deployment"),
    });
  });
});
