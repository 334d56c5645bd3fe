/** The delivery rules of each platform, as its documents state them (links beside each). */
import type { Alarm } from "../../../src/core/ports.ts";
import type { Mortal } from "../../engine/mortal.ts";
import { bare, Process, type ProcessOptions } from "../../engine/process.ts";
import { Apart, type Own } from "./apart.ts";
import { Aws } from "./aws.ts";
import { BareCloudflare } from "./bare-cloudflare.ts";
import { type BellRules, Bells } from "./bells.ts";
import { Cloudflare } from "./cloudflare.ts";
import { Deliveries, type DeliveryRules } from "./deliveries.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

export const platforms = ["cloudflare", "aws", "cron", "node", "embedded"] as const;
export type PlatformName = (typeof platforms)[number];

const sixHoursMs = 6 * 3_600_000;

const inProcess: DeliveryRules = { batch: 100, twice: 0, late: 0, lateMs: 0, againMs: [] };

const timers: BellRules = {
  roundMs: 1,
  lateMs: 0,
  // As Ticker has it.
  againMs: [1_000, 2_000, 4_000, 5_000],
  areGivenUp: false,
  isNamed: false,
  areInMemory: true,
  sweepMs: sixHoursMs,
};

export function outsideOf(platform: PlatformName, ground: Ground): Outside {
  switch (platform) {
    case "cloudflare":
      return new Cloudflare(ground);
    case "aws":
      return new Aws(ground);
    case "cron":
      return new BareCloudflare(ground);
    case "node":
      return new Apart(ground, inMemory);
    case "embedded":
      return inMemory(ground);
  }
}

function inMemory(ground: Ground, elsewhere: () => Alarm | undefined = () => undefined): Own {
  const bells = new Bells(timers, ground);
  const lookAhead = (ms: number): void => {
    for (const process of ground.processes()) ground.looksAhead(process);
    bells.ringIn(ms);
  };
  const onFailed = () => lookAhead(1_000);
  const alarm: Alarm = (instants) => (elsewhere() ?? bells.alarm)(instants);
  const deliveries = new Deliveries({ ...inProcess, onFailed }, ground);
  return Object.assign(new RuledOutside(deliveries, bells, alarm), { lookAhead });
}

/** Dispatches and alarms of one platform. */
class RuledOutside implements Outside {
  readonly deliveries: Deliveries;
  readonly bells: Bells;
  readonly alarm: Alarm;

  constructor(deliveries: Deliveries, bells: Bells, alarm = bells.alarm) {
    this.deliveries = deliveries;
    this.bells = bells;
    this.alarm = alarm;
  }

  readonly ports: ProcessOptions["ports"] = (process) => {
    const { dispatch } = this.deliveries;
    return bare({ dispatch, alarm: this.alarm })(process);
  };

  readonly beget = (plan: Plan): Process => new Process({ ...plan, ports: this.ports });

  readonly graceMs = 0;

  get isExact(): boolean {
    return !this.bells.areInMemory;
  }

  deployed(): void {
    // A process that has its alarms in memory begins with a tick.
    if (this.isExact) this.bells.ringOnce();
  }

  happenings() {
    return [...this.bells.happenings(), ...this.deliveries.happenings()];
  }

  next(): number | undefined {
    const [one, other] = [this.bells.next(), this.deliveries.next()];
    return one === undefined ? other : other === undefined ? one : Math.min(one, other);
  }

  get refusedAt(): number | undefined {
    return this.bells.sweptAt;
  }

  standing() {
    return this.bells.standing();
  }

  lose(process: Mortal): void {
    this.bells.lose(process);
    this.deliveries.lose(process);
  }
}
