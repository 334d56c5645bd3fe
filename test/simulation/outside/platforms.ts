/** The delivery rules of each platform, as its documents state them (links beside each). */
import type { TurnRef } from "../../../src/core/ports.ts";
import type { Process } from "../../engine/process.ts";
import { type BellRules, Bells } from "./bells.ts";
import { Cron } from "./cron.ts";
import { Deliveries, type DeliveryRules } from "./deliveries.ts";
import type { Ground, Outside } from "./outside.ts";

export const platforms = ["cloudflare", "aws", "cron", "node", "embedded"] as const;
export type PlatformName = (typeof platforms)[number];

const minuteMs = 60_000;
const sixHoursMs = 6 * 3_600_000;

const queue: DeliveryRules = {
  // https://developers.cloudflare.com/queues/reference/delivery-guarantees/ and …/configuration/batching-retries/
  batch: 10,
  twice: 5,
  late: 10,
  lateMs: 60_000,
  againMs: [0, 10_000, 30_000],
};
const invoke: DeliveryRules = {
  // https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
  batch: null,
  twice: 5,
  late: 10,
  lateMs: 30_000,
  againMs: [minuteMs, 2 * minuteMs],
};
/** A request to itself: what its process does not end is lost. */
const request: DeliveryRules = { batch: null, twice: 0, late: 5, lateMs: 2_000, againMs: [] };
const inProcess: DeliveryRules = { batch: 100, twice: 0, late: 0, lateMs: 0, againMs: [] };

const durableObject: BellRules = {
  // https://developers.cloudflare.com/durable-objects/api/alarms/: at least once, six retries from 2 s on, doubling.
  // What it gave up stays in the object's storage, and the cron, which asks the object each minute, finds it there.
  roundMs: minuteMs,
  lateMs: 30_000,
  againMs: [2_000, 4_000, 8_000, 16_000, 32_000, 64_000],
  isNamed: false,
  areInMemory: false,
  sweepMs: minuteMs,
};
const oneShots: BellRules = {
  // https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html: within 60 s; then an asynchronous invoke.
  roundMs: minuteMs,
  lateMs: minuteMs,
  againMs: [minuteMs, 2 * minuteMs],
  isNamed: true,
  areInMemory: false,
  sweepMs: sixHoursMs,
};
const timers: BellRules = {
  roundMs: 1,
  lateMs: 0,
  againMs: [1_000, 10_000, minuteMs, minuteMs, minuteMs, minuteMs],
  isNamed: false,
  areInMemory: true,
  sweepMs: sixHoursMs,
};

export function outsideOf(platform: PlatformName, ground: Ground): RuledOutside {
  switch (platform) {
    case "cloudflare":
      return new RuledOutside(new Deliveries(queue, ground), new Bells(durableObject, ground));
    case "aws":
      return new RuledOutside(new Deliveries(invoke, ground), new Bells(oneShots, ground));
    case "cron":
      return new RuledOutside(new Deliveries(request, ground), new Cron(ground));
    case "node":
    case "embedded":
      return new RuledOutside(new Deliveries(inProcess, ground), new Bells(timers, ground));
  }
}

/** Dispatches and alarms of one platform. */
export class RuledOutside implements Outside {
  readonly deliveries: Deliveries;
  readonly bells: Bells | Cron;

  constructor(deliveries: Deliveries, bells: Bells | Cron) {
    this.deliveries = deliveries;
    this.bells = bells;
  }

  readonly dispatch = (turns: readonly TurnRef[], delayMs: number) => this.deliveries.dispatch(turns, delayMs);
  readonly alarm: Outside["alarm"] = (instants) => this.bells.alarm(instants);

  get isBeat(): boolean {
    return this.bells instanceof Cron;
  }

  happenings() {
    return [...this.bells.happenings(), ...this.deliveries.happenings()];
  }

  next(): number | undefined {
    const [one, other] = [this.bells.next(), this.deliveries.next()];
    return one === undefined ? other : other === undefined ? one : Math.min(one, other);
  }

  standing() {
    return this.bells.standing();
  }

  lose(process: Process): void {
    this.bells.lose(process);
    this.deliveries.lose(process);
  }
}
