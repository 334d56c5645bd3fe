/** The events by which the functions of a deployment ask each other, and what they ask. */
import type { TurnRef } from "../../core/ports.ts";
import { isInteger, isTurn } from "../invocation/turn-message.ts";

/** Asks the function `turns` to carry out turns. */
export interface TurnsEvent {
  readonly turns: readonly TurnRef[];
  /** The schedules that its sender knows to stand, so that a thousand environments do not make the same one at once. */
  readonly armed?: readonly string[] | undefined;
}

/** Asks the function `tick` for a tick. What comes of another kind, such as an empty event after a deploy, asks as well. */
export interface TickEvent {
  /** The minute for which its alarm was armed, by the host's clock. */
  readonly minute?: number | undefined;
  /** As for the engine's tick. */
  readonly readyUntil?: number | undefined;
  /** How many ticks in a row have failed before. */
  readonly tries?: number | undefined;
  /** Whether it is the sweep, which tells what no alarm has rung for. */
  readonly sweep?: true | undefined;
}

/** Asks the function `turns` to carry out a delivery of a webhook that was answered before. It is sealed. */
export interface DeliveryEvent {
  readonly sealed: string;
}

/** What the queue carries to the function `forward`: an event for one of the others. */
export type ForwardedEvent =
  | { readonly to: "turns"; readonly event: DeliveryEvent; readonly since: number; readonly tries?: number | undefined }
  | { readonly to: "turns"; readonly event: TurnsEvent }
  | { readonly to: "tick"; readonly event: TickEvent };

/** Reads an event of `turns`. What names no turn is left out. */
export function readTurnsEvent(event: unknown): TurnsEvent & { readonly others: readonly unknown[] } {
  const { turns, armed }: { turns?: unknown; armed?: unknown } = Object(event);
  const all: readonly unknown[] = Array.isArray(turns) ? turns : [event];
  return {
    turns: all.filter(isTurn),
    armed: Array.isArray(armed) ? armed.filter((key) => typeof key === "string") : [],
    others: all.filter((turn) => !isTurn(turn)),
  };
}

export function isDeliveryEvent(event: unknown): event is DeliveryEvent {
  return typeof event === "object" && event !== null && "sealed" in event && typeof event.sealed === "string";
}

export function readTickEvent(event: unknown): TickEvent {
  const { minute, readyUntil, tries, sweep }: Readonly<Partial<Record<keyof TickEvent, unknown>>> = Object(event);
  return {
    ...(isInteger(minute) && { minute: Number(minute) }),
    ...(Number.isSafeInteger(readyUntil) && { readyUntil: Number(readyUntil) }),
    ...(isInteger(tries) && { tries: Number(tries) }),
    ...(sweep === true && { sweep }),
  };
}

/**
 * Reads the text of a message of the queue. It is an event to forward, or what AWS puts there itself: the event of a schedule
 * that could not invoke `tick`, or the record of a `tick` that failed again and again. Undefined: it is none of them.
 */
export function readForwarded(text: string): ForwardedEvent | { readonly failed: TickEvent } | undefined {
  const message: Readonly<
    Partial<Record<"to" | "event" | "requestPayload" | "minute" | "sweep" | "since" | "tries", unknown>>
  > = Object(parsed(text));
  const { since, tries } = message;
  if (isDeliveryEvent(message.event) && Number.isSafeInteger(since))
    return { to: "turns", event: message.event, since: Number(since), tries: isInteger(tries) ? Number(tries) : 0 };
  if (message.to === "turns" && readTurnsEvent(message.event).turns.length > 0)
    return { to: "turns", event: message.event as TurnsEvent };
  if (message.to === "tick") return { to: "tick", event: readTickEvent(message.event) };
  if ("requestPayload" in message) return { failed: readTickEvent(message.requestPayload) };
  const isTick = isInteger(message.minute) || message.sweep === true;
  return isTick ? { to: "tick", event: readTickEvent(message) } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
