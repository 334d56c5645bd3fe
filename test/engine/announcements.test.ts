/** A callback whose announcement fails although somebody has got it: they answered. */
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { play, type TestedStep, tested, worldOf } from "./playing.ts";

const database = testDatabase();

type Announce = (context: { readonly token: string }) => Promise<void>;
interface Retry {
  readonly maxAttempts: number;
  readonly delay: number;
}

const alone = (step: TestedStep, announce: Announce, retry: Retry) =>
  step.waitForCallback("approval", announce, { retry });
const beside = async (step: TestedStep, announce: Announce, retry: Retry) => {
  const [answer] = await Promise.all([alone(step, announce, retry), step.run("beside", () => 0)]);
  return answer;
};

test.each([
  ["alone", "at its last attempt", alone, 1],
  ["alone", "at an attempt that would be made again", alone, 5],
  ["beside another", "at its last attempt", beside, 1],
  ["beside another", "at an attempt that would be made again", beside, 5],
] as const)("the answer is taken where the announcement fails %s, %s", async (_, __, announcing, maxAttempts) => {
  const tokens: string[] = [];
  const world = await worldOf(database, ({ step }) =>
    announcing(
      step,
      async ({ token }) => {
        tokens.push(token);
        await world.foreign("20 seconds");
        throw new Error("the mail server closed the connection");
      },
      { maxAttempts, delay: 60_000 },
    ),
  );
  const run = await world.start(tested);
  await world.pass("10 seconds");
  const [token = ""] = tokens;
  await world.ask((client) => client.resolveCallback(token, { ok: true }, { contract: tested }));
  expect(await world.run(run)).toMatchObject({ status: "completed", result: { ok: true } });
  expect(tokens).toHaveLength(1);
});

test("an announcement that fails and that nobody has answered fails its wait", async () => {
  const { view } = await play(database, ({ step }) =>
    step.waitForCallback(
      "approval",
      () => {
        throw new Error("no mail server");
      },
      { retry: { maxAttempts: 2, delay: 0 } },
    ),
  );
  const error = { name: "StepError", message: expect.stringContaining("2 attempts") };
  expect(view).toMatchObject({ status: "failed", error });
});
