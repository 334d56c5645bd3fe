/** Callbacks: how a run announces them, how they are answered or rejected, and what happens at a deadline. */
import { describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, tested, worldOf } from "./playing.ts";

const database = testDatabase();

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
