/** Dispatches and alarms of a process that lives on. They die with it. */
import type { Alarm } from "../../../src/core/ports.ts";
import { earliest } from "../../engine/course.ts";
import { bare, Process, type ProcessOptions } from "../../engine/process.ts";
import type { Own } from "./apart.ts";
import { Bells } from "./bells.ts";
import { Deliveries } from "./deliveries.ts";
import type { Ground, Plan } from "./outside.ts";

/** How soon a process looks again that could not carry out what was delivered to it, in milliseconds. */
const lookAgainMs = 1_000;

export class InMemory implements Own {
  readonly isExact = false;
  readonly graceMs = 0;
  readonly alarm: Alarm;
  readonly #ground: Ground;
  readonly #deliveries: Deliveries;
  readonly #bells: Bells;

  /** `elsewhere`: answers the alarm that rings instead, if there is one. */
  constructor(ground: Ground, elsewhere: () => Alarm | undefined = () => undefined) {
    this.#ground = ground;
    this.#bells = new Bells(ground);
    this.#deliveries = new Deliveries(ground, () => this.lookAhead(lookAgainMs));
    this.alarm = (instants) => (elsewhere() ?? this.#bells.alarm)(instants);
  }

  readonly ports: ProcessOptions["ports"] = (process) =>
    bare({ dispatch: this.#deliveries.dispatch, alarm: this.alarm })(process);

  readonly beget = (plan: Plan): Process => new Process({ ...plan, ports: this.ports });

  /** Each of its processes begins with a tick. */
  deployed(): void {}

  lookAhead(ms: number): void {
    for (const process of this.#ground.processes()) this.#ground.looksAhead(process);
    this.#bells.ringIn(ms);
  }

  happenings() {
    return [...this.#bells.happenings(), ...this.#deliveries.happenings()];
  }

  next(): number | undefined {
    return earliest([this.#bells.next(), this.#deliveries.next()]);
  }

  standing() {
    return this.#bells.standing();
  }

  lose(): void {
    this.#bells.lose();
    this.#deliveries.lose();
  }
}
