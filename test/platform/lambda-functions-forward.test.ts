/**
 * The function forward of AWS Lambda: it hands on what could not be invoked, and has it come again until that is done.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { context, PlayedLambda } from "./played-lambda.ts";

const database = testDatabase();
let lambda: PlayedLambda;

beforeEach(() => {
  lambda = new PlayedLambda(database);
});

describe("forward", () => {
  const messages = (...bodies: unknown[]) => ({
    Records: bodies.map((body, index) => ({
      messageId: `m${index}`,
      body: typeof body === "string" ? body : JSON.stringify(body),
    })),
  });
  const turns = { turns: [{ runId: "019b796d-d62f-7fd1-8a65-ec2548bbcbbc", turn: 1 }] };

  test("hands on turns, and ticks", async () => {
    const tick = { minute: 3, tries: 1 };
    const of = lambda.functions();
    expect(await of.forward(messages({ to: "turns", event: turns }, { to: "tick", event: tick }), context)).toEqual({
      batchItemFailures: [],
    });
    expect(lambda.invoked).toEqual([
      { name: "turns", event: turns },
      { name: "tick", event: tick },
    ]);
  });

  test.each([{ minute: 3, readyUntil: 200_000 }, { sweep: true }])(
    "hands on the event of a schedule that could not invoke the function (%j)",
    async (event) => {
      await lambda.functions().forward(messages(event), context);
      expect(lambda.invoked).toEqual([{ name: "tick", event }]);
    },
  );

  test.each([
    [0, 60],
    [1, 120],
    [3, 480],
    [9, 900],
  ])("tries a tick that failed %i times before again after %i s", async (tries, delaySeconds) => {
    await lambda.functions().forward(messages({ requestContext: {}, requestPayload: { minute: 3, tries } }), context);
    expect(lambda.sent.map(({ body, ...rest }) => ({ ...rest, body: JSON.parse(body) }))).toEqual([
      { delaySeconds, body: { to: "tick", event: { minute: 3, tries: tries + 1 } } },
    ]);
  });

  test("has those come again that could not be handed on, and no others", async () => {
    lambda.refusing.add("invoke");
    const answer = await lambda.functions().forward(messages({ to: "turns", event: turns }, "rubbish"), context);
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "m0" }] });
  });

  test("asks for a delivery until it is done: for 12 hours by messages of its own, and then by the queue", async () => {
    const [event, since] = [{ sealed: "1.x" }, Date.now()];
    const of = lambda.functions();
    lambda.refusing.add("ask");
    const delays = [];
    let message: unknown = { to: "turns", event, since };
    for (let tries = 0; tries < 7; tries += 1) {
      expect(await of.forward(messages(message), context)).toEqual({ batchItemFailures: [] });
      const [again] = lambda.sent.splice(0);
      delays.push(again?.delaySeconds);
      message = JSON.parse(again?.body ?? "");
      expect(message).toEqual({ to: "turns", event, since, tries: tries + 1 });
    }
    expect(delays).toEqual([10, 30, 90, 270, 810, 900, 900]);
    lambda.refusing.add("send");
    const toCome = { batchItemFailures: [{ itemIdentifier: "m0" }] };
    expect(await of.forward(messages(message), context)).toEqual(toCome);
    lambda.refusing.delete("send");
    lambda.ahead.wall = 12 * 3_600_000 + 1;
    expect(await of.forward(messages(message), context)).toEqual(toCome);
    expect(lambda.sent).toEqual([]);
    lambda.refusing.delete("ask");
    expect(await of.forward(messages(message), context)).toEqual({ batchItemFailures: [] });
    expect(lambda.invoked).toEqual([{ name: "turns", event }]);
  });

  test("reports what is no event, and lets it go", async () => {
    await lambda
      .functions()
      .forward(messages("rubbish", { to: "nobody" }, { to: "turns", event: { turns: [] } }), context);
    expect(lambda.reported.map(String)).toEqual(Array(3).fill(expect.stringContaining("is no event")));
    expect(lambda.statements).toEqual([]);
  });
});
