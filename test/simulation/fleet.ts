/**
 * The processes of the deployment that is live. One that died is replaced at once; a new deployment replaces all of them.
 * Where one process has everything in memory, its successor begins with a tick.
 */
import { earliest, type Source } from "../engine/course.ts";
import type { Mortal } from "../engine/mortal.ts";
import { Process } from "../engine/process.ts";
import { isOnDemand } from "./outside/mixed.ts";
import type { Outside } from "./outside/outside.ts";
import { type PlanOptions, planOf } from "./process-plan.ts";
import { programIndex } from "./programs/contract.ts";
import type { Deployment } from "./scenario.ts";

export interface FleetOptions extends PlanOptions {
  readonly outside: () => Outside;
}

/** Neighbours ask each other every 20 seconds, and two questions without an answer are enough. */
const missedMs = 40_000;

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
  /** Processes that took their alarms with them, or their successors, which have not ticked yet. */
  readonly #unticked = new Set<Mortal>();

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
    return this.#hasCodeOf(version) && this.#options.outside().carries?.(version) !== false;
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
    else if (this.#isInMemory(process)) this.#unticked.add(process);
  }

  /** Answers whether any process was dead. */
  revive(): boolean {
    if (!this.#processes.some(({ isDead }) => isDead)) return false;
    if (this.#areOnDemand) this.#processes = this.#processes.filter(({ isDead }) => !isDead);
    else
      this.#processes = this.#processes.flatMap((process, index) =>
        !process.isDead ? [process] : isOnDemand(process) ? [] : [this.#beget(index, process)],
      );
    return true;
  }

  /** One process more of the live deployment. */
  another(): Mortal {
    const process = this.#beget(this.#processes.length % this.#options.scenario.skewsMs.length);
    this.#processes.push(process);
    return process;
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

  /** New code has come to some of the processes. */
  noteRelease(): void {
    this.isNew = true;
    this.changedAt = this.#options.time();
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

  /** Whether alarms and dispatches are lost with the process. */
  #isInMemory(process: Mortal): process is Process {
    return process instanceof Process;
  }

  #hasCodeOf(version: number): boolean {
    return this.#options.scenario.deployments[this.#deployments - 1]?.without !== programIndex(version);
  }

  /**
   * One pass of the scheduler. As a process of its own does it (ticker.ts): after a tick that failed it looks at what others may
   * have missed.
   */
  async tick(process: Process): Promise<void> {
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
    this.#unticked.clear();
    const old = this.#processes;
    const { platform, processes } = this.#options.scenario;
    const count = this.#areOnDemand ? 0 : platform === "embedded" ? 1 : processes;
    this.#processes = [];
    for (const process of old) {
      if (this.#isInMemory(process) && platform !== "embedded" && graceMs !== undefined) {
        this.#askToEnd(process, graceMs);
      } else {
        process.die();
        this.#options.outside().lose(process);
      }
    }
    this.#processes = Array.from({ length: count }, (_, index) => this.#beget(index));
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

  #beget(index: number, instead?: Mortal): Mortal {
    const plan = planOf(this.#options, {
      name: `process ${++this.#born}`,
      instead,
      deployment: this.deployment,
      hasCodeOf: (version) => this.#hasCodeOf(version),
      skewMs: this.#options.scenario.skewsMs[index],
    });
    const process = this.#options.outside().beget(plan);
    if (instead !== undefined) this.#unticked.delete(instead);
    if (this.#isInMemory(process)) this.#begin(process);
    return process;
  }

  /** What died with the last process is armed and dispatched anew. */
  #begin(process: Process): void {
    const isExclusive = this.#options.scenario.platform === "embedded";
    const { deployment } = this;
    process.isBeginning = true;
    this.#unticked.add(process);
    const tick = async () => {
      if (isExclusive) await process.calls.voidLeases();
      process.isBeginning = false;
      await process.tick({ isFirst: true, isExclusive, looksAhead: true });
    };
    const again = (): void =>
      void tick().then(
        () => {
          if (process.isDead) return;
          this.#unticked.delete(process);
          const outside = this.#options.outside();
          if (outside.hasTicked === undefined) this.settle(deployment);
          else outside.hasTicked(process);
        },
        () => process.timers.after(1_000, again),
      );
    again();
  }
}

function deploymentInWords({ without, graceMs }: Deployment): string {
  const grace = graceMs === undefined ? "" : `, after which the old processes have ${graceMs / 1_000} s to end`;
  return `a deployment${without === undefined ? "" : ` without version ${without + 1}`}${grace}`;
}
