import { readFileSync } from "node:fs";
import { type Step, workflow } from "layover";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { type TestEngineOptions, type TestKitError, testEngine } from "../../src/testing.ts";

const job = workflow({ name: "job", version: 1 });
type JobStep = Step;

/** Opens and closes one engine here, because the first one of a process opens its Postgres. */
beforeAll(async () => {
  const first = await testEngine({ workflows: [] });
  await first.close();
});

const engines: { close(): Promise<void> }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const engine of engines.splice(0)) await engine.close();
});

async function aRunOf(handle: (step: JobStep) => Promise<unknown>, options: Partial<TestEngineOptions> = {}) {
  const t = await testEngine({ ...options, workflows: [job.handler(({ step }) => handle(step))] });
  engines.push(t);
  return { t, run: await t.start(job) };
}

const body = () => 1;
const notDeterministic = { code: "not_deterministic" };

test.each<[string, (step: JobStep) => Promise<unknown>]>([
  [
    "the clock",
    (step) =>
      step.run(
        Date.now() < Date.UTC(2030, 0) && new Date().getUTCHours() < 24
          ? `at ${new Date().toISOString().slice(0, 10)}`
          : "late",
        body,
      ),
  ],
  ["chance, below a limit", (step) => step.run(Math.random() < 0.5 ? "heads" : "tails", body)],
  ["a rare chance", async (step) => (Math.random() > 0.01 ? step.run("usual", body) : 0)],
  ["the timezone", (step) => step.run(`offset ${new Date(0).getTimezoneOffset()}`, body)],
  [
    "chance, for the order",
    async (step) => {
      const both = [() => step.run("a", body), () => step.run("b", body)];
      await Promise.all((Math.random() < 0.5 ? both : both.toReversed()).map((one) => one()));
    },
  ],
  [
    "chance, after some steps",
    async (step) => {
      await step.run("first", body);
      await step.sleep("rest", 1);
      if (Math.random() < 0.99) await step.run("second", body);
    },
  ],
])("a handler that decides by %s is found", async (_, handle) => {
  const { t, run } = await aRunOf(handle);
  await expect(t.advance("1 second").then(() => run.result())).rejects.toMatchObject(notDeterministic);
});

test("the error names the step and the line of both demands", async () => {
  const { run } = await aRunOf(async (step) => {
    await step.run("weigh", body);
    if (Math.random() < 0.5) await step.run("heads", body);
    else await step.run("tails", body);
  });
  const error: TestKitError = await run.result().then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
  expect(error.message).toMatch(
    /^The handler of "job" asked for step "(heads|tails)" after record 1 \(.*:\d+:\d+\)\. Replayed .* it asks for step "(heads|tails)" after record 1 \(.*\)\. Decide by/,
  );
  for (const [, place = "", path = "", line = ""] of error.message.matchAll(
    /step "(\w+)" after record 1 \((.*?):(\d+):\d+\)/g,
  ))
    expect(readFileSync(path, "utf8").split("\n")[Number(line) - 1]).toContain(`step.run("${place}"`);
});

test("a handler that decides by step.now, random and uuid, and by results, passes", async () => {
  const { t, run } = await aRunOf(async (step) => {
    const now = step.now();
    await step.run(`at ${now.toISOString().slice(0, 13).replaceAll(":", "-")}`, body);
    await step.run(step.random() < 0.5 ? "heads" : "tails", body);
    await step.run(step.uuid(), body);
    const drawn = await step.run("draw", () => Math.random());
    await step.map("items", drawn < 0.5 ? [1] : [1, 2], (_, { step }) => step.run("item", body));
    await step.sleep("rest", 1_000);
    return Date.now();
  });
  await t.advance("2 seconds");
  t.crash();
  await expect(run.result()).resolves.toBeTypeOf("number");
});

test("it can be switched off", async () => {
  const { run } = await aRunOf((step) => step.run(`at ${Date.now()}`, body), { determinism: false });
  await expect(run.result()).resolves.toBe(1);
});

test("the world comes back as it was, also where the clock is faked", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 5_000 });
  const { Date: faked } = globalThis;
  const { random } = Math;
  const timezone = process.env["TZ"];
  const seen: number[] = [];
  const { run } = await aRunOf(async (step) => {
    seen.push(Date.now());
    await step.run("one", body);
  });
  await run.result();
  expect(seen).toHaveLength(3);
  expect(new Set(seen).size).toBe(3);
  expect([globalThis.Date, Math.random, process.env["TZ"]]).toEqual([faked, random, timezone]);
  expect(Date.now()).toBe(5_000);
});

test("a run that is looked at again and again is replayed a few times only", async () => {
  let begun = 0;
  const { t } = await aRunOf(async (step) => {
    begun += 1;
    for (let round = 0; round < 64; round += 1) await step.sleep("nap", 1_000);
  });
  for (let round = 0; round < 70; round += 1) await t.advance("1 second");
  expect(begun).toBeLessThanOrEqual(1 + 2 * 8);
});

test("engines side by side see the usual world in their bodies", async () => {
  const seen: number[] = [];
  const runs = await Promise.all(
    Array.from({ length: 5 }, () =>
      aRunOf(async (step) => {
        for (let round = 0; round < 5; round += 1) await step.run("look", () => void seen.push(Date.now()));
      }),
    ),
  );
  await Promise.all(runs.map(({ run }) => run.result()));
  expect(seen).toHaveLength(25);
  for (const each of seen) expect(Math.abs(each - Date.now())).toBeLessThan(86_400_000);
});
