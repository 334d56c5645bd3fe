/** Processes that share nothing but the database: each has dispatches and alarms of its own, which are lost with it. */
import { earliest } from "../../engine/course.ts";
import type { Process } from "../../engine/process.ts";
import type { Ground, Outside } from "./outside.ts";

export class Apart implements Outside {
  readonly isExact = false;
  readonly graceMs = 0;
  readonly #ground: Ground;
  readonly #make: (ground: Ground) => Outside;
  /** By the timers of the process. */
  readonly #own = new Map<object, Outside>();

  constructor(ground: Ground, make: (ground: Ground) => Outside) {
    this.#ground = ground;
    this.#make = make;
  }

  readonly ports: Outside["ports"] = (within) => {
    const { timers } = within;
    const processes = () => this.#ground.processes().filter((process) => process.timers === timers);
    const own = this.#make({ ...this.#ground, processes });
    this.#own.set(timers, own);
    return own.ports(within);
  };

  happenings() {
    return this.#all.flatMap((own) => own.happenings());
  }

  next(): number | undefined {
    return earliest(this.#all.map((own) => own.next()));
  }

  standing() {
    return this.#all.flatMap((own) => own.standing());
  }

  lose(process: Process): void {
    this.#own.delete(process.timers);
  }

  deployed(): void {} // each process begins with a tick

  get #all(): readonly Outside[] {
    return [...this.#own.values()];
  }
}
