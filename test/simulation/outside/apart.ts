/**
 * Processes that share nothing but the database: each has dispatches and alarms of its own, which are lost with it.
 * One that was asked to end has its neighbours keep what it arms, and look after it
 * (src/platform/node/neighbours/neighbours.ts).
 */
import type { Alarm } from "../../../src/core/ports.ts";
import { earliest } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import { type Ports, Process, type ProcessOptions } from "../../engine/process.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

/** What one process has to itself. */
export interface Own extends Outside {
  readonly ports: ProcessOptions["ports"];
  readonly alarm: Alarm;
  /** Ticks in so many milliseconds, to look at what others may have missed. */
  lookAhead(ms: number): void;
}

export class Apart implements Outside {
  readonly isExact = false;
  readonly graceMs = 0;
  readonly #ground: Ground;
  readonly #make: (ground: Ground, elsewhere: () => Alarm | undefined) => Own;
  /** What each process has to itself, by the process' timers. */
  readonly #own = new Map<object, Own>();

  /** `elsewhere`: answers the alarm that rings for a process that was asked to end. */
  constructor(ground: Ground, make: (ground: Ground, elsewhere: () => Alarm | undefined) => Own) {
    this.#ground = ground;
    this.#make = make;
  }

  readonly beget = (plan: Plan): Process => new Process({ ...plan, ports: (process) => this.#portsOf(process) });

  #portsOf(process: Mortal): Ports {
    const { timers } = process;
    const processes = () => this.#ground.processes().filter((process) => process.timers === timers);
    const elsewhere = () => (this.#own.has(timers) ? undefined : this.#all[0]?.alarm);
    const own = this.#make({ ...this.#ground, processes }, elsewhere);
    this.#own.set(timers, own);
    return own.ports(process);
  }

  happenings() {
    return this.#all.flatMap((own) => own.happenings());
  }

  next(): number | undefined {
    return earliest(this.#all.map((own) => own.next()));
  }

  standing() {
    return this.#all.flatMap((own) => own.standing());
  }

  lose(process: Mortal): void {
    this.#own.delete(process.timers);
  }

  end(process: Mortal): void {
    this.lose(process);
  }

  lookAfter(ms: number): void {
    this.#all[0]?.lookAhead(ms);
  }

  deployed(): void {} // each process begins with a tick

  get #all(): readonly Own[] {
    return [...this.#own.values()];
  }
}
