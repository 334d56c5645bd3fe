/**
 * The processes of the deployment that is live. One that died is replaced at once; a new deployment replaces all of them.
 * Where one process has everything in memory, its successor begins with a tick.
 */
import type { Chance } from "../engine/chance.ts";
import { earliest, type Source } from "../engine/course.ts";
import type { Mortal, Sent } from "../engine/mortal.ts";
import { Process } from "../engine/process.ts";
import { isOnDemand } from "./outside/mixed.ts";
import type { Outside } from "./outside/outside.ts";
import type { ProgramContract } from "./programs/contract.ts";
import { offspringWorkflow } from "./programs/invoke.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { playing } from "./programs/program.ts";
import type { Deployment, Scenario } from "./scenario.ts";
import type { Site } from "./site.ts";

export interface FleetOptions {
  readonly site: Site;
  readonly scenario: Scenario;
  readonly contracts: readonly ProgramContract[];
  readonly chance: Chance;
  /** The world's. */
  readonly time: () => number;
  /** The instant at which the world began. */
  readonly beginning: number;
  readonly outside: () => Outside;
  readonly world: ProgramWorld;
  readonly note: (line: () => string) => void;
}

const namespace = "simulation";
/** What its deployments have in common. */
const stack = "stack";
/** So little that the history of one run with long results may fill it. */
const claimBytes = 2_000_000;
/** Neighbours ask each other every 20 seconds, and two questions without an answer are enough. */
const missedMs = 40_000;
/** As pg.ts has it. */
const answersWithinMs = 15_000;

export class Fleet implements Source {
  readonly #options: FleetOptions;
  #processes: Mortal[] = [];
  /** Processes of earlier deployments that were asked to end, and have not yet. */
  #ending: Mortal[] = [];
  /** How many deployments there were. */
  #deployments = 0;
  #born = 0;
  deaths = 0;
  /** When a process died or a deployment came; the world's time. */
  changedAt = 0;
  /** Those of which the next tick looks at what others may have missed. */
  readonly #looking = new Set<Process>();
  /** No tick of the deployment has succeeded yet. */
  isNew = true;
  /** When one did; the world's time. */
  settledAt = 0;
  /** The places of processes that took their alarms with them, and whose successors have not ticked yet. */
  readonly #unticked = new Set<number>();

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get all(): readonly Mortal[] {
    return [...this.#processes, ...this.#ending];
  }

  /** Those that take something now. */
  get takers(): readonly Mortal[] {
    const taker = this.#deployments === 0 ? undefined : this.#options.outside().taker?.();
    if (taker !== undefined) return [taker];
    return this.#processes.filter(({ isDead, isBeginning }) => !isDead && !isBeginning);
  }

  /** Some process took its alarms with it, and its successor has not ticked yet. */
  get isBeginning(): boolean {
    return this.#unticked.size > 0;
  }

  /** Some process carries out a group of those that may have ended one. */
  get hasGroup(): boolean {
    return this.all.some(({ hasGroup }) => hasGroup);
  }

  get isAtRest(): boolean {
    return this.all.every(({ resting }) => resting === 0);
  }

  /** Whether the live deployment carries the version. */
  carries(version: number): boolean {
    return this.#options.scenario.deployments[this.#deployments - 1]?.without !== version - 1;
  }

  happenings() {
    const { time } = this.#options;
    const next = this.#next;
    const isDue = next !== undefined && next.atMs <= time();
    return [
      ...(isDue ? [{ what: () => deploymentInWords(next), act: () => this.#deploy(next) }] : []),
      ...this.all
        .filter(({ timers }) => (timers.next ?? Number.POSITIVE_INFINITY) <= time())
        .map(({ name, timers }) => ({ what: () => `${name}: a timer fires`, act: () => void timers.fire() })),
    ];
  }

  next(): number | undefined {
    return earliest([this.#next?.atMs, ...this.all.map(({ timers }) => timers.next)]);
  }

  crash(process: Mortal): void {
    if (process.isDead) return;
    this.deaths += 1;
    this.changedAt = this.#options.time();
    this.#options.note(() => `… ${process.name} dies`);
    process.die();
    this.#options.outside().lose(process);
    if (this.#ending.includes(process)) this.#hasEnded(process, missedMs);
    else if (this.#isInMemory) this.#unticked.add(this.#processes.indexOf(process));
  }

  /** Answers whether any process was dead. */
  revive(): boolean {
    if (!this.#processes.some(({ isDead }) => isDead)) return false;
    if (this.#areOnDemand) this.#processes = this.#processes.filter(({ isDead }) => !isDead);
    else
      this.#processes = this.#processes.flatMap((process, index) =>
        !process.isDead ? [process] : isOnDemand(process) ? [] : [this.#beget(index)],
      );
    return true;
  }

  /** One process more of the live deployment. */
  another(): Mortal {
    const process = this.#beget(this.#processes.length % this.#options.scenario.skewsMs.length);
    this.#processes.push(process);
    return process;
  }

  /** One pass of the scheduler. */
  async tick(process: Process, readyUntil?: number): Promise<void> {
    if (this.#isInMemory) return await this.#tickAhead(process);
    const { deployment } = this;
    await process.tick({ readyUntil });
    this.settle(deployment);
  }

  looksAhead(process: Process): void {
    this.#looking.add(process);
  }

  /** Id of the deployment that came last. */
  get deployment(): string {
    return `deployment ${this.#deployments}`;
  }

  /** Notes that a tick of this deployment has succeeded. */
  settle(deployment: string): void {
    if (!this.isNew || deployment !== this.deployment) return;
    this.isNew = false;
    this.settledAt = this.#options.time();
  }

  end(): void {
    const left = this.all;
    this.#processes = [];
    this.#ending = [];
    for (const process of left) process.die();
  }

  get #next() {
    return this.#options.scenario.deployments[this.#deployments];
  }

  /** The platform makes processes as they are needed. */
  get #areOnDemand(): boolean {
    return this.#options.scenario.platform === "aws";
  }

  /** Alarms and dispatches are lost with the process. */
  get #isInMemory(): boolean {
    const { platform } = this.#options.scenario;
    return platform === "node" || platform === "embedded";
  }

  /** As a process of its own does it (ticker.ts): after a tick that failed it looks at what others may have missed. */
  async #tickAhead(process: Process): Promise<void> {
    const looksAhead = this.#looking.delete(process);
    try {
      await process.tick({ looksAhead });
    } catch (error) {
      this.looksAhead(process);
      throw error;
    }
  }

  #deploy({ graceMs }: Deployment): void {
    this.#deployments += 1;
    this.changedAt = this.#options.time();
    this.isNew = true;
    const old = this.#processes;
    const { platform, processes } = this.#options.scenario;
    const count = this.#areOnDemand ? 0 : platform === "embedded" ? 1 : processes;
    this.#processes = [];
    for (const process of old) {
      if (process instanceof Process && platform === "node" && graceMs !== undefined) {
        this.#askToEnd(process, graceMs);
      } else {
        process.die();
        this.#options.outside().lose(process);
      }
    }
    this.#unticked.clear();
    this.#processes = Array.from({ length: count }, (_, index) => {
      if (this.#isInMemory) this.#unticked.add(index);
      return this.#beget(index);
    });
    this.#options.outside().deployed();
  }

  /** As a process of its own does it when it is asked to end (in-process.ts). */
  #askToEnd(process: Process, graceMs: number): void {
    this.#ending.push(process);
    process.engine.close();
    this.#options.outside().end?.(process);
    const giveBack = async () => {
      process.engine.abandon();
      await process.engine.giveBack();
      this.#options.note(() => `… ${process.name} has ended`);
      process.die();
      this.#hasEnded(process, 0);
    };
    process.timers.after(graceMs, () => void giveBack());
  }

  /** It is gone; another process looks at what it has left, once it knows. */
  #hasEnded(process: Mortal, knownInMs: number): void {
    this.changedAt = this.#options.time();
    this.#ending = this.#ending.filter((other) => other !== process);
    this.#options.outside().lookAfter?.(knownInMs);
  }

  #beget(index: number): Mortal {
    const { site, scenario, contracts, chance, time, beginning, outside, world } = this.#options;
    const { query } = site;
    const process = outside().beget({
      name: `process ${++this.#born}`,
      workflows: [
        offspringWorkflow,
        ...scenario.runs.flatMap(({ program }, number) => {
          const contract = contracts[number];
          return contract === undefined || !this.carries(number + 1) ? [] : [contract.handler(playing(program, world))];
        }),
      ],
      namespace,
      deployment: { name: stack, id: this.deployment },
      query: Object.assign((...call: Parameters<typeof query>) => query(...call), { endpoint: query.endpoint }),
      together: inOneStatement,
      answersWithinMs: scenario.platform === "embedded" ? undefined : answersWithinMs,
      time,
      beginning,
      skewMs: scenario.skewsMs[index],
      warmRuns: scenario.warmRuns,
      claimBytes,
      invocation: { maxSteps: scenario.maxSteps },
      random: chance.next,
      newToken: chance.uuid,
      onError: (error, doing) =>
        this.#options.note(() => `… ${process.name} reports, while ${doing}: ${String(error)}`),
    });
    if (process instanceof Process && this.#isInMemory) this.#begin(process, index);
    return process;
  }

  /** What died with the last process is armed and dispatched anew. */
  #begin(process: Process, index: number): void {
    const isExclusive = this.#options.scenario.platform === "embedded";
    const { deployment } = this;
    process.isBeginning = true;
    const tick = async () => {
      if (isExclusive) await process.calls.voidLeases();
      process.isBeginning = false;
      await process.tick({ isFirst: true, isExclusive, looksAhead: true });
    };
    const again = (): void =>
      void tick().then(
        () => {
          if (process.isDead) return;
          this.#unticked.delete(index);
          this.settle(deployment);
        },
        () => process.timers.after(1_000, again),
      );
    again();
  }
}

/** A statement is carried out as a whole or not at all. */
function inOneStatement(writes: readonly Sent[], last: Sent): Sent {
  const parameters = [...last.parameters];
  const parts = writes.map(({ text, parameters: values }, index) => {
    const before = parameters.length;
    parameters.push(...values);
    return `write_${index} as (${text.replaceAll(/\$(\d+)/g, (_, number) => `$${before + Number(number)}`)})`;
  });
  return { text: parts.length === 0 ? last.text : `with ${parts.join(", ")} ${last.text}`, parameters };
}

function deploymentInWords({ without, graceMs }: Deployment): string {
  const grace = graceMs === undefined ? "" : `, after which the old processes have ${graceMs / 1_000} s to end`;
  return `a deployment${without === undefined ? "" : ` without version ${without + 1}`}${grace}`;
}
