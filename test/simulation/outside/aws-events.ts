/** The events of AWS' functions: the alarms that ticks stand for, and how people read what is invoked. */
import type { TurnRef } from "../../../src/core/ports.ts";
import { minuteRingsAt } from "../../../src/core/waking.ts";
import { readTickEvent } from "../../../src/platform/lambda/messages.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { describeTurn } from "../../engine/process.ts";

/** An asynchronous invocation that waits. */
export interface Invocation {
  readonly name: "turns" | "tick";
  readonly payload: string;
  readonly at: number;
  readonly tries: number;
}

/** The clocks of hosts on AWS are less than this apart, in milliseconds. So an alarm may ring so much too early. */
const mostAheadMs = 2_000;

export function unarmed(ringsAt: number): StandingAlarm {
  return { at: ringsAt, ringsAt, isRinging: true, isUnarmed: true };
}

/** The alarm that the event of a tick stands for. One that failed before stands for whatever it was to find. */
export function alarmOf(payload: string, ringsAt: number, isRinging: boolean): StandingAlarm {
  const { minute, readyUntil, tries } = readTickEvent(JSON.parse(payload));
  if (minute === undefined || tries !== undefined) return { ...unarmed(ringsAt), readyUntil };
  return { at: minuteRingsAt(minute) + mostAheadMs, ringsAt, isRinging, readyUntil };
}

export function turnsOf(payload: string): readonly TurnRef[] {
  const { turns }: { turns: readonly TurnRef[] } = JSON.parse(payload);
  return turns;
}

export function describeTurns(payload: string): string {
  return turnsOf(payload).map(describeTurn).join();
}

export function describe({ name, payload }: Invocation): string {
  if (name === "tick") return "tick is invoked";
  const turns = turnsOf(payload).map((turn) => `${describeTurn(turn)} of ${turn.runId}`);
  return `turns is invoked for ${turns.join(", ")}`;
}
