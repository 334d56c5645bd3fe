/** Engines of the kit, which are closed after each test, and a workflow whose handler each test writes. */
import { workflow } from "layover";
import { afterEach, beforeAll } from "vitest";
import * as z from "zod";
import { type Stubs, type TestEngine, type TestEngineOptions, testEngine } from "../../src/testing.ts";

export const tested = workflow({
  name: "tested",
  version: 1,
  signals: { go: z.string(), other: z.number() },
  callbacks: { approval: z.object({ ok: z.boolean() }) },
});
export type TestedStep = Parameters<Parameters<typeof tested.handler>[0]>[0]["step"];

/** A body for which the test has a stub. */
export const real = () => {
  throw new Error("the real body was run");
};

/** Opens engines, and closes each after its test. Call it at the top of a test file. */
export function testEngines() {
  /** Opens and closes one engine here, because the first one of a process opens its Postgres. */
  beforeAll(async () => {
    const first = await testEngine({ workflows: [] });
    await first.close();
  }, 120_000);

  const engines: TestEngine[] = [];
  afterEach(async () => {
    for (const engine of engines.splice(0)) await engine.close();
  });

  async function anEngine(options: TestEngineOptions): Promise<TestEngine> {
    const engine = await testEngine(options);
    engines.push(engine);
    return engine;
  }

  /** Starts a run of this handler, which is not carried out yet. */
  async function aRunOf(
    handle: (step: TestedStep) => Promise<unknown>,
    stub: Stubs[string] = {},
    options: Omit<TestEngineOptions, "workflows" | "stub"> = {},
  ) {
    const workflows = [tested.handler(({ step }) => handle(step))];
    const t = await anEngine({ ...options, workflows, stub: { tested: stub } });
    return { t, run: await t.start(tested) };
  }

  return { anEngine, aRunOf };
}
