/** The processes of a world: who gets what comes next, how they die, and how new ones begin in their place. */
import type { Delivery } from "./platform.ts";
import type { Process } from "./process.ts";
import type { WorldOptions } from "./world-options.ts";
import { makeProcess, type ProcessStage } from "./world-process.ts";

interface FleetStage extends ProcessStage {
  /** Answers the id of the deployment that gets all ticks, turns and questions. Undefined: each process gets some. */
  readonly served: () => string | undefined;
}

/** Answers whether a world is one process, which has the alarms in its memory. */
export function isOneProcess({ platform }: WorldOptions): boolean {
  return platform === "node" || platform === "embedded";
}

export class Fleet {
  options: WorldOptions;
  processes: Process[] = [];
  /** Whether a process has begun that has not armed yet what died with the last one. */
  isBeginning = false;
  /** How many processes there were. */
  born = 0;
  readonly #stage: FleetStage;
  #turn = 0;

  constructor(options: WorldOptions, stage: FleetStage) {
    this.options = options;
    this.#stage = stage;
  }

  get isOneProcess(): boolean {
    return isOneProcess(this.options);
  }

  /** Makes its processes anew. None of them has begun with a tick. */
  renew(): void {
    const { processes = 1, beside = [] } = this.options;
    this.processes = Array.from({ length: Math.max(processes, 1 + beside.length) }, (_, index) =>
      this.#newProcess(index),
    );
  }

  /** Has all processes begin as Node does. */
  beginAll(): void {
    this.isBeginning = true;
    for (const process of this.processes) this.#takeOver(process);
  }

  /** Kills all processes. */
  die(): void {
    for (const process of this.processes) process.die();
  }

  /** Kills a process. What it held in memory is gone. */
  crash(process = this.processes[0]): void {
    if (process === undefined || process.isDead) return;
    this.#stage.notes.deaths += 1;
    process.die();
    this.#stage.platform.lose(process, { andAlarms: this.isOneProcess });
    this.isBeginning ||= this.isOneProcess;
  }

  /** Begins anew what has died. Answers whether anything had. */
  respawn(): boolean {
    if (!this.processes.some(({ isDead }) => isDead)) return false;
    this.processes = this.processes.map((process, index) => {
      if (!process.isDead) return process;
      const next = this.#newProcess(index);
      if (this.isOneProcess) this.#takeOver(next);
      return next;
    });
    return true;
  }

  /** Answers the process whose turn it is. */
  next(): Process {
    const taking = this.processes.filter((process) => this.#isServed(process));
    const process = taking[this.#turn++ % taking.length];
    if (process === undefined) throw new Error("there is no process");
    return process;
  }

  takersOf({ turns }: Delivery): readonly Process[] {
    return this.processes.filter((process) => this.#isServed(process) && process.takes(turns));
  }

  deliver(delivery: Delivery): void {
    this.#stage.notes.invocations += 1;
    const takers = this.takersOf(delivery);
    void takers[this.#turn++ % takers.length]?.carryOut(this.#stage.platform.take(delivery));
  }

  /** Begins a process as Node does: with a tick, which arms again what died with the last process. */
  #takeOver(next: Process): void {
    const isExclusive = this.options.platform === "embedded";
    const begun = () => {
      this.isBeginning = false;
    };
    const tick = () => {
      next.isBeginning = false;
      return next.tick({ isFirst: true, isExclusive, looksAhead: true });
    };
    const begin = () => (isExclusive ? next.calls.voidLeases().then(tick) : tick());
    // As a host does it, it tries again until it succeeds.
    const again = (): void => void begin().then(begun, () => (next.isDead ? begun() : next.timers.after(1_000, again)));
    next.isBeginning = true;
    again();
  }

  #isServed({ deployment }: Process): boolean {
    const served = this.#stage.served();
    return served === undefined || deployment?.id === served;
  }

  #newProcess(index: number): Process {
    this.born += 1;
    return makeProcess(this.options, index, this.#stage);
  }
}
