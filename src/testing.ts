/**
 * A test kit for workflows: the real engine on an embedded Postgres, with a clock turned by hand.
 *
 *   const t = await testEngine({ workflows: [orderWorkflow], stub: { order: { charge: () => ({ id: "c1" }) } } });
 *   const run = await t.start(order, input);
 *   await run.untilWaiting("approval");
 *   await run.callback("approval").resolve({ ok: true });
 *   await t.advance("1 hour");
 *   expect(await run.result()).toEqual({ charge: "c1" });
 *
 * Nothing happens on its own: turns are carried out by `untilWaiting`, `untilIdle`, `turn`, `advance` and `result`, and
 * time passes by `advance` alone (`Date.now()` in your own code tells the real time). It needs no test runner: vitest,
 * node:test and bun do alike. What handlers do outside of steps, and steps without a stub, is done for real.
 */
import type { SignalReceipt } from "./client/run.ts";
import type { SignalWithStartOptions } from "./client/signal-with-start.ts";
import type { StartOptions } from "./client/starting.ts";
import type { ClientVerbs } from "./client/verbs.ts";
import type { Contract, SignalsOf, Workflow } from "./core/contract/contract.ts";
import type { Schedule } from "./core/contract/schedule.ts";
import type { InferInput } from "./core/contract/schema.ts";
import type { StartArguments } from "./core/contract/startable.ts";
import { type Duration, toMilliseconds } from "./core/duration.ts";
import type { Query } from "./core/ports.ts";
import type { LogEntry } from "./engine/events.ts";
import { TestKitError } from "./testing/kit-error.ts";
import { Stage } from "./testing/stage.ts";
import type { OnMissingStub } from "./testing/stub-use.ts";
import type { Stubs } from "./testing/stubs.ts";
import { TestRun } from "./testing/test-run.ts";

export type { ExportedRun } from "./client/exports.ts";
export type { LogEntry } from "./engine/events.ts";
export type { Asked, ReplayVerdict } from "./engine/replay/replay-stored.ts";
export { type KitErrorCode, TestKitError } from "./testing/kit-error.ts";
export { type ReplayFileOptions, replay } from "./testing/replay.ts";
export type { OnMissingStub } from "./testing/stub-use.ts";
export { failing, hanging, type Stub, type StubContext, type Stubs } from "./testing/stubs.ts";
export type { TestCallback, TestRun, WaitNameOf } from "./testing/test-run.ts";

export interface TestEngineOptions {
  readonly workflows: readonly Workflow[];
  /** Schedules. They fire as `advance` turns the clock. Default: none. */
  readonly schedules?: readonly Schedule[] | undefined;
  /**
   * Stands for the bodies of steps, by workflow and by step: the name of the step, or its path as `history()` shows it,
   * with or without numbers (`ship[3]/send`, `ship/send`). What `waitForCallback("approval", …)` announces with is
   * `approval/announce`. What has no stub is carried out for real.
   */
  readonly stub?: Stubs | undefined;
  /**
   * What happens if a step has no stub, and a stub of nearly its name has met no step: `chrage` and `charge`, `coolOff`
   * and `cool off`. `"throw"`: the test fails with `unknown_stub`, and the body is not run. `"run"`: the body is run.
   * Other stubs that no step meets are no mistake, since tests may share stubs. Default: `"throw"`.
   */
  readonly onMissingStub?: OnMissingStub | undefined;
  /** What time it is at first. Default: noon on 1 January 2026, UTC. */
  readonly now?: Date | number | undefined;
  /** How much real time a body may take until it counts as one that never ends. Default: 250 ms. */
  readonly patience?: Duration | undefined;
  /**
   * Whether runs are replayed once they wait or are over: twice, each time with another clock, another `Math.random` and
   * another timezone. A handler that asks for other things then fails the test with `not_deterministic`. Default: true.
   */
  readonly determinism?: boolean | undefined;
  /**
   * Wraps the kit's database as your deployment wraps its own: `(database) => withStore(database, { store })`, and
   * `encrypted(database, keys)`. It is called for each process and for each client, so make the store outside. Values then have the
   * limits that they have there. Default: it is not wrapped.
   */
  readonly wrap?: ((database: Query) => Query) | undefined;
}

/**
 * Begins a test engine. The first one of a process takes less than a second, and each further one next to no time. The
 * very first one on a machine makes a Postgres, which takes some seconds. That Postgres is kept in
 * `node_modules/.cache/layover`.
 *
 * @example await using t = await testEngine({ workflows: [orderWorkflow], stub: { order: { charge: failing(2, () =>
 *   "c1") } } });
 * @throws TestKitError `unknown_workflow`; LayoverError `duplicate_workflow`; SetupError `package_missing`
 */
export async function testEngine(options: TestEngineOptions): Promise<TestEngine> {
  const { workflows, schedules = [], stub: stubs = {}, onMissingStub = "throw" } = options;
  const { now = Date.UTC(2026, 0, 1, 12), patience = 250, determinism: checksDeterminism = true } = options;
  const { wrap = (database) => database } = options;
  const patienceMs = toMilliseconds(patience, { field: "patience" });
  const given = { workflows, schedules, stubs, onMissingStub, now: Number(now), patienceMs, checksDeterminism, wrap };
  return new TestEngine(await Stage.open(given));
}

/**
 * An engine whose time and turns are in the test's hands. Made by `testEngine`.
 *
 * @example await using t = await testEngine({ workflows: [orderWorkflow] });
 */
class TestEngine {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** What time it is. @example expect(t.now).toEqual(new Date("2026-01-01T13:00Z")) */
  get now(): Date {
    return new Date(this.#stage.now);
  }

  /** What handlers logged, so far. @example expect(t.logs).toMatchObject([{ message: "charged" }]) */
  get logs(): readonly LogEntry[] {
    return this.#stage.logs;
  }

  /**
   * A client of this engine, for the code that you test. It has all verbs, and it lives on when the process crashes.
   * `untilIdle`, `advance` and the like carry out what it starts, and `runs` finds it.
   *
   * @example await checkout(cart, { client: t.client }); // your code: it calls client.start(order, …)
   */
  get client(): ClientVerbs {
    return this.#stage.client;
  }

  /**
   * Lists the runs of this contract, whoever started them. The oldest comes first. Runs of the same instant come in any
   * order.
   *
   * @example const [run] = await t.runs(order);
   */
  async runs<C extends Contract>(contract: C): Promise<readonly TestRun<C>[]> {
    const { name, version } = contract;
    const runIds: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#stage.client.list({ workflow: name, limit: 200, cursor });
      runIds.push(...page.runs.filter((run) => run.version === version).map(({ runId }) => runId));
      ({ cursor } = page);
    } while (cursor !== undefined);
    return runIds.toReversed().map((runId) => new TestRun(this.#stage, contract, runId));
  }

  /**
   * Starts a run. Its first turn is due at once, and carried out by whatever comes next.
   *
   * @example const run = await t.start(order, { id: "o1" }, { delay: "1 hour" });
   * @throws LayoverError `invalid_input`; TestKitError `unknown_workflow`
   */
  async start<C extends Contract>(contract: C, ...args: StartArguments<C, StartOptions>): Promise<TestRun<C>> {
    this.#checkContract(contract);
    const { runId } = await this.#stage.ask((client) => client.start(contract, ...args));
    return new TestRun(this.#stage, contract, runId);
  }

  /**
   * Sends a signal to the run with your own id, and starts that run first unless it is there.
   *
   * @example const { run } = await t.signalWithStart(cart, "item", { sku: "lamp" }, { id: "c1", input: { customer: "ada" } });
   * @throws LayoverError `invalid_input`, `invalid_payload`, `run_over`; TestKitError `unknown_workflow`
   */
  async signalWithStart<C extends Contract, Name extends keyof SignalsOf<C> & string>(
    contract: C,
    name: Name,
    payload: InferInput<SignalsOf<C>[Name]>,
    options: SignalWithStartOptions<C>,
  ): Promise<{ readonly run: TestRun<C>; readonly outcome: SignalReceipt["outcome"] }> {
    this.#checkContract(contract);
    const { run, outcome } = await this.#stage.ask((client) =>
      client.signalWithStart(contract, name, payload, options),
    );
    return { run: new TestRun(this.#stage, contract, run.runId), outcome };
  }

  #checkContract({ name, version }: Contract): void {
    if (!this.#stage.workflows.some((known) => known.contract.name === name && known.contract.version === version)) {
      throw new TestKitError(
        "unknown_workflow",
        `Version ${version} of ${JSON.stringify(name)} is not carried out here.`,
        {
          hint: "Give its workflow, with the handler, to testEngine({ workflows }).",
        },
      );
    }
  }

  /**
   * Lets time pass, and carries out what falls due meanwhile, each at its instant.
   *
   * @example await t.advance("30 days");
   */
  async advance(duration: Duration): Promise<void> {
    await this.#stage.advance(toMilliseconds(duration, { field: "duration" }));
    await this.#stage.checkDeterminism();
  }

  /**
   * Carries out all that is due now, of every run. No time passes.
   *
   * @example await t.untilIdle();
   * @throws TestKitError `never_ends` where a body does not end, `not_deterministic`
   */
  async untilIdle(): Promise<void> {
    await this.#stage.play();
    await this.#stage.checkDeterminism();
  }

  /**
   * Carries out one turn that is due now: at most one step. False: none is due.
   *
   * @example while (await t.turn()) t.crash();
   */
  async turn(): Promise<boolean> {
    return (await this.#stage.play({ turns: 1, mayHang: true })) > 0;
  }

  /**
   * The process dies, and with it all that it holds in memory; another one takes over. Between two turns, or in the
   * middle of one, called by a stub: what its body answers is lost then.
   *
   * @example t.crash();
   */
  crash(): void {
    this.#stage.crash();
  }

  /** Carries out nothing more. @example afterEach(() => t.close()); */
  async close(): Promise<void> {
    await this.#stage.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export type { TestEngine };
