/** Sleeps, signals and callbacks: what a run waits for while nobody works on it. */

import { NonRetryableError, workflow } from "layover";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";
import { World } from "./world.ts";

const database = testDatabase();

describe("a sleep", () => {
  test.each([
    ["a second", "1s", 1_000],
    ["no time at all", 0, 0],
    ["a minute and a half", "90s", 90_000],
    ["an hour", "1 hour", 3_600_000],
    ["ten years", "3650 days", 315_360_000_000],
  ] as const)("of %s lasts as long, to the millisecond", async (_, duration, ms) => {
    const { view, world } = await play(database, async ({ step }) => {
      const before = step.now();
      await step.sleep("nap", duration);
      return step.now().getTime() - before.getTime();
    });
    expect(view).toMatchObject({ status: "completed", result: ms });
    expect(world.time).toBe(ms);
  });

  test("lasts no longer though its process died meanwhile", async () => {
    const world = await worldOf(database, async ({ step }) => step.sleep("nap", "1 hour"));
    const run = await world.start(tested);
    await world.pass("10 minutes");
    world.crash();
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBe(3_600_000);
  });

  test("of a run with a start delay reckons from its begin, not from its creation", async () => {
    const world = await worldOf(database, async ({ step, run }) => {
      const began = step.now();
      await step.sleep("nap", "10 minutes");
      return [began, step.now()].map((at) => at.getTime() - run.createdAt.getTime());
    });
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [3_600_000, 4_200_000] });
    expect(world.time).toBe(4_200_000);
  });

  test("of a run with a start delay lasts as long, and as the run stood still, after a retry", async () => {
    let isBroken = true;
    const world = await worldOf(database, async ({ step }) => {
      const fail = () => {
        if (isBroken) throw new NonRetryableError("no");
      };
      const work = async () => {
        await step.run("reserve", () => {});
        await step.run("charge", fail);
      };
      await Promise.all([step.sleep("nap", "3 hours"), work()]);
    });
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    expect(await world.run(run)).toMatchObject({ status: "failed" });
    isBroken = false;
    await world.pass("30 minutes");
    await world.ask((client) => client.retry(run.runId));
    expect(await world.run(run)).toMatchObject({ status: "completed" });
    expect(world.time).toBe(4.5 * 3_600_000);
  });

  test("until a time in the past is none", async () => {
    const { world, view } = await play(database, async ({ step }) => step.sleepUntil("nap", new Date(0)));
    expect(view.status).toBe("completed");
    expect(world.time).toBe(0);
  });

  test("until a date ends then", async () => {
    const { view, world } = await play(database, async ({ step }, world) => {
      await step.sleepUntil("date", new Date(Date.UTC(2026, 0, 2)));
      await step.sleepUntil("number", Date.UTC(2026, 0, 3));
      return world.now;
    });
    expect(view.result).toBe(Date.UTC(2026, 0, 3));
    expect(world.time).toBe(36 * 3_600_000);
  });

  test.each([
    ["a date that is none", new Date(Number.NaN)],
    ["NaN", Number.NaN],
    ["the end of the world", Number.MAX_VALUE],
  ])("until %s is refused", async (_, instant) => {
    const { view } = await play(database, async ({ step }) => step.sleepUntil("nap", instant));
    expect(view.error).toMatchObject({ code: "invalid_request", message: 'sleepUntil "nap" got no valid time' });
  });

  test("of an absurd length is refused", async () => {
    const { view } = await play(database, async ({ step }) => step.sleep("nap", 100 * 365 * 86_400_000));
    expect(view.error).toMatchObject({ code: "invalid_duration" });
  });
});

describe("a wait for a signal", () => {
  test("ends when the signal comes", async () => {
    const world = await worldOf(database, async ({ step }) => step.waitForSignal("go"));
    const run = await world.start(tested);
    await world.pass("3 days");
    expect(await world.get(run.runId)).toMatchObject({ status: "waiting", dueAt: undefined });
    await world.signal(run, tested, "go", { city: "Bonn" });
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { city: "Bonn" } });
    expect(world.time).toBe(3 * 86_400_000);
  });

  test("takes signals that came before anyone waited, in the order in which they came", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "1 hour");
      return [await step.waitForSignal("go"), await step.waitForSignal("other"), await step.waitForSignal("go")];
    });
    const run = await world.start(tested);
    await world.signal(run, tested, "go", 1);
    await world.signal(run, tested, "go", 2);
    await world.signal(run, tested, "other", 3);
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [1, 3, 2] });
  });

  test("takes more signals than a claim offers at once", async () => {
    const world = await worldOf(database, async ({ step }) => {
      await step.sleep("nap", "1 hour");
      const taken: unknown[] = [];
      while (taken.length < 45) taken.push(await step.waitForSignal("go", { timeout: 0, onTimeout: "null" }));
      return taken;
    });
    const run = await world.start(tested);
    for (let number = 0; number < 43; number += 1) await world.signal(run, tested, "go", number);
    expect((await world.run(run)).result).toEqual([...Array.from({ length: 43 }, (_, number) => number), null, null]);
  });

  test("shares its signals with others by the order of demand", async () => {
    const world = await worldOf(database, async ({ step }) =>
      Promise.all([step.waitForSignal("go"), step.waitForSignal("go"), step.waitForSignal("other")]),
    );
    const run = await world.start(tested);
    await world.signal(run, tested, "other", "c");
    await world.signal(run, tested, "go", "a");
    await world.signal(run, tested, "go", "b");
    expect(await world.run(run)).toMatchObject({ result: ["a", "b", "c"] });
  });

  test("throws a TimeoutError at its deadline", async () => {
    const { view, world } = await play(database, async ({ step }) => {
      try {
        return await step.waitForSignal("go", { timeout: "2 hours" });
      } catch (error) {
        return { ...Object(error), message: error instanceof Error && error.message };
      }
    });
    expect(view.result).toEqual({
      name: "TimeoutError",
      kind: "signal",
      wait: "go",
      timeoutMs: 7_200_000,
      message: 'the signal "go" did not arrive within 2 h',
    });
    expect(world.time).toBe(7_200_000);
  });

  test("gives null at its deadline, where that is asked for", async () => {
    const { view } = await play(database, async ({ step }) => {
      const first = await step.waitForSignal("go", { timeout: "5s", onTimeout: "null" });
      return [first, await step.waitForSignal("go", { timeout: "5s", onTimeout: "null" })];
    });
    expect(view.result).toEqual([null, null]);
  });

  test("of no time takes a signal that came before the run began", async () => {
    const world = await worldOf(database, async ({ step }) =>
      step.waitForSignal("go", { timeout: 0, onTimeout: "null" }),
    );
    const run = await world.start(tested, undefined, { delay: "1 hour" });
    await world.pass("10 minutes");
    await world.ask((client) => client.run(tested, run.runId).signal("go", "now"));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "now" });
  });

  test("takes a signal that came at its very deadline", async () => {
    const world = await worldOf(database, async ({ step }) => step.waitForSignal("go", { timeout: "1 hour" }));
    const run = await world.start(tested);
    await world.pass(3_599_999);
    world.fate = ({ what }) => (what === "list_due" && world.time === 3_600_000 ? "fails before" : "passes");
    await world.pass(1);
    await world.signal(run, tested, "go", "just in time");
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "just in time" });
  });

  test("that timed out takes nothing, though the signal came before anybody looked", async () => {
    const world = await worldOf(database, async ({ step }) => [
      await step.waitForSignal("go", { timeout: "1 hour", onTimeout: "null" }),
      await step.waitForSignal("go"),
    ]);
    const run = await world.start(tested);
    world.fate = ({ what }) => (what === "list_due" ? "fails before" : "passes");
    await world.pass(3_600_001);
    await world.signal(run, tested, "go", "too late");
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "completed", result: [null, "too late"] });
    expect((await world.history(run)).records.map(({ value }) => value)).toEqual([undefined, "too late"]);
  });

  test("sent past the door, from SQL, with what its schema refuses, throws", async () => {
    const contract = workflow({ name: "strict", version: 1, signals: { go: z.object({ n: z.coerce.number() }) } });
    const world = await World.begin(database, {
      workflows: [
        contract.handler(async ({ step }) => {
          const good = await step.waitForSignal("go");
          return [
            good,
            await step.waitForSignal("go").catch((error: unknown) => ({ ...Object(error), text: String(error) })),
          ];
        }),
      ],
    });
    const run = await world.start(contract);
    await world.settle();
    for (const payload of [{ n: "7" }, { n: "seven" }]) {
      const { runId } = run;
      const call = JSON.stringify({ namespace: world.namespace, runId, name: "go", payload });
      await database.query("select layover.send_signal($1)", [call]);
    }
    await world.tick();
    const { status, result } = await world.run(run);
    expect(status).toBe("completed");
    expect(result).toMatchObject([{ n: 7 }, { code: "invalid_payload" }]);
    expect(JSON.stringify(result)).toContain("does not fit its schema");
  });

  test("sent from SQL is seen by whoever wakes the scheduler", async () => {
    const world = await worldOf(database, async ({ step }) => step.waitForSignal("go"));
    const run = await world.start(tested);
    await world.settle();
    const call = { namespace: world.namespace, runId: run.runId, name: "go", payload: { from: "psql" } };
    await database.query("select layover.send_signal($1)", [JSON.stringify(call)]);
    await world.ask((client) => client.wake());
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { from: "psql" } });
  });
});

describe("a callback", () => {
  const announced = () => {
    const tokens: string[] = [];
    return { tokens, announce: ({ token }: { token: string }) => void tokens.push(token) };
  };

  test("is announced by a step, and gives the answer", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) => step.waitForCallback("approval", announce));
    const run = await world.start(tested);
    await world.pass("2 days");
    expect(tokens).toHaveLength(1);
    await world.ask((client) => client.resolveCallback(tokens[0] ?? "", { ok: true }, { contract: tested }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: { ok: true } });
    expect((await world.history(run)).records.map(({ kind, path }) => [kind, path])).toEqual([
      ["step", "approval/announce"],
      ["callback", "approval"],
    ]);
  });

  test("has the same URL in every attempt to announce it", async () => {
    const urls: string[] = [];
    const { view } = await play(
      database,
      async ({ step }) =>
        step.waitForCallback(
          "approval",
          ({ url, attempt }) => {
            urls.push(url);
            if (attempt < 3) throw new Error("the mail server is down");
          },
          { timeout: "1 hour", onTimeout: "null", retry: { delay: "10 minutes" } },
        ),
      { warmRuns: 0 },
    );
    expect(view).toMatchObject({ status: "completed", result: null });
    expect(urls).toHaveLength(3);
    expect(new Set(urls).size).toBe(1);
  });

  test("carries what it asks in its URL, and is refused with a text that is too long for one", async () => {
    const { tokens, announce } = announced();
    const question = { title: "Refund Ada?", text: "She has paid twice." };
    const { view } = await play(database, async ({ step }) => {
      const options = { ...question, timeout: "1 hour", onTimeout: "null" } as const;
      await step.waitForCallback("approval", announce, options);
      return step
        .waitForCallback("approval", announce, { text: "é".repeat(501) })
        .catch((error: unknown) => Object(error).message);
    });
    expect(view.result).toBe("the text of a callback is 1002 bytes long, more than 1000");
    expect(tokens.map((token) => JSON.parse(Buffer.from(token, "base64url").toString()))).toMatchObject([question]);
  });

  test("that is rejected throws, with the reason as its cause", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) =>
      step
        .waitForCallback("approval", announce)
        .catch((error: unknown) => ({ ...Object(error), text: String(error), cause: Object(error).cause })),
    );
    const run = await world.start(tested);
    await world.settle();
    const reason = { name: "Refused", message: "too expensive", data: { limit: 100 } };
    await world.ask((client) => client.rejectCallback(tokens[0] ?? "", reason));
    expect((await world.run(run)).result).toMatchObject({
      name: "CallbackRejectedError",
      callback: "approval",
      text: 'CallbackRejectedError: the callback "approval" was rejected: too expensive',
      cause: reason,
    });
  });

  test("may be answered before anyone waits for it", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) => {
      const callback = step.createCallback("approval");
      await step.run("announce", () => announce(callback));
      await step.sleep("nap", "1 hour");
      return [await callback.wait(), await callback.wait()];
    });
    const run = await world.start(tested);
    await world.pass("1 minute");
    await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "early", { contract: tested }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: ["early", "early"] });
  });

  test("throws a TimeoutError at its deadline, and whoever answers later is told so", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) => {
      const answer = await step.waitForCallback("approval", announce, { timeout: "3 days" }).catch(String);
      await step.sleep("nap", "1 hour");
      return answer;
    });
    const run = await world.start(tested);
    await world.pass("73 hours");
    const late = world.ask((client) => client.resolveCallback(tokens[0] ?? "", 1, { contract: tested }));
    await expect(late).rejects.toMatchObject({ code: "callback_expired" });
    expect(await world.run(run)).toMatchObject({
      result: 'TimeoutError: the callback "approval" was not answered within 3 days',
    });
  });

  test("gives null at its deadline, where that is asked for", async () => {
    const { announce } = announced();
    const { view } = await play(database, async ({ step }) =>
      step.waitForCallback("approval", announce, { timeout: "3 days", onTimeout: "null" }),
    );
    expect(view).toMatchObject({ status: "completed", result: null });
  });

  test("that was answered at its very deadline gives the answer", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) =>
      step.waitForCallback("approval", announce, { timeout: "1 hour" }),
    );
    const run = await world.start(tested);
    world.fate = ({ what }) => (what === "list_due" && world.time === 3_600_000 ? "fails before" : "passes");
    await world.pass("1 hour");
    await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "in time", { contract: tested }));
    world.fate = () => "passes";
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "in time" });
  });

  test("whose timeout is under way is not answered any more, though the clock shows its deadline still", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) =>
      step.waitForCallback("approval", announce, { timeout: "1 hour", onTimeout: "null" }),
    );
    const run = await world.start(tested);
    let late: unknown;
    world.fate = async ({ what }) => {
      if (what === "finish_turns" && world.time === 3_600_000) {
        const ref = JSON.parse(Buffer.from(tokens[0] ?? "", "base64url").toString());
        const call = { namespace: world.namespace, ...ref, outcome: "resolved", value: "1true" };
        [late] = await database.query("select layover.answer_callback($1) as answer", [JSON.stringify(call)]);
      }
      return "passes" as const;
    };
    expect(await world.run(run)).toMatchObject({ status: "completed", result: null });
    expect(late).toEqual({ answer: { outcome: "expired" } });
    expect(world.errors).toEqual([]);
    expect(world.time).toBe(3_600_000);
  });

  test("whose answer was accepted gives it, though the turn that was to record its wait died until after the deadline", async () => {
    const { tokens, announce } = announced();
    const world = await worldOf(database, async ({ step }) => {
      const callback = step.createCallback("approval");
      await step.map("announce", ["mail", "chat"], (to, { step }) => step.run(to, () => announce(callback)));
      return callback.wait({ timeout: "30s", onTimeout: "null" });
    });
    const isContinuation = () => world.statements("finish_turns") === 3;
    world.fate = ({ what }) => {
      return what === "finish_turns" && isContinuation() && world.deaths === 0 ? "dies before" : "passes";
    };
    const run = await world.start(tested);
    await world.pass("40s");
    expect(world.deaths).toBe(1);
    await world.ask((client) => client.resolveCallback(tokens[0] ?? "", "accepted", { contract: tested }));
    expect(await world.run(run)).toMatchObject({ status: "completed", result: "accepted" });
  });

  test.each(["before its turn is finished", "after it"])(
    "that has no time at all is answered, or refuses: %s",
    async (when) => {
      const { tokens, announce } = announced();
      const answers: unknown[] = [];
      const world = await worldOf(database, async ({ step }) =>
        step.waitForCallback("approval", announce, { timeout: 0, onTimeout: "null" }),
      );
      world.fate = async ({ what }) => {
        const isTime = what === (when === "after it" ? "claim_turns" : "finish_turns");
        if (tokens[0] !== undefined && answers.length === 0 && isTime) {
          const ref = JSON.parse(Buffer.from(tokens[0], "base64url").toString());
          const call = { namespace: world.namespace, ...ref, outcome: "resolved", value: '1"accepted"' };
          answers.push(
            ...(await database.query("select layover.answer_callback($1) as answer", [JSON.stringify(call)])),
          );
        }
        return "passes" as const;
      };
      const run = await world.start(tested);
      const { result } = await world.run(run);
      expect(answers).toHaveLength(1);
      const isAccepted = JSON.stringify(answers).includes("answered");
      expect(result).toBe(isAccepted ? "accepted" : null);
    },
  );

  test("cannot be made where the deployment has no address", async () => {
    const { view } = await play(database, async ({ step }) => step.createCallback("approval").url, {
      hasNoAddress: true,
    });
    expect(view).toMatchObject({ status: "failed", error: { code: "callbacks_unavailable" } });
  });
});
