/**
 * The trace to which a turn belongs. No process keeps that: all that carry out a run find the same, from its row. So the turns
 * of a run are in one trace, whatever hosts they come from.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isSpanContextValid, type SpanContext, TraceFlags } from "@opentelemetry/api";
import type { BegunTurn } from "../../engine/telemetry.ts";

/** How long a trace goes on. Who collects traces drops spans that come days after the first. */
const traceMs = 3_600_000;

export interface TraceOfRun {
  readonly parent: SpanContext;
  /** The trace of the start, where this one is a later one. */
  readonly first: SpanContext | undefined;
}

/**
 * The turns of a run's first hour belong to the trace of whoever has started it, or, if that is none, to one whose id
 * is the run's id. Each later hour in which the run does something has a trace of its own, and so has each further epoch,
 * with a link to the first. The parent of the turns in such a trace is a span that nobody sends: the run.
 */
export function traceOfRun(
  turn: Pick<BegunTurn, "runId" | "epoch" | "traceparent" | "createdAt" | "at">,
  sample: number | "parent",
): TraceOfRun {
  const { runId, epoch, createdAt, at } = turn;
  const start = startOf(turn);
  const traceFlags = isSampled(start, sample) ? TraceFlags.SAMPLED : TraceFlags.NONE;
  const first = { ...start, traceFlags, isRemote: true };
  const hour = Math.max(0, Math.floor((at - createdAt) / traceMs));
  if (epoch === 0 && hour === 0) return { parent: first, first: undefined };
  const digest = bytesToHex(sha256(utf8ToBytes(`${runId}/${epoch}/${hour}`)));
  const later = { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
  return { parent: { ...later, traceFlags, isRemote: true }, first };
}

function startOf({ runId, traceparent }: Pick<BegunTurn, "runId" | "traceparent">): SpanContext {
  const [, traceId = "", spanId = "", flags = "0"] = traceparent?.split("-") ?? [];
  const given = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED };
  if (isSpanContextValid(given)) return given;
  const own = runId.replaceAll("-", "");
  return { traceId: own, spanId: own.slice(16), traceFlags: TraceFlags.SAMPLED };
}

/** Decides the same for all that belong to one trace, so a run and those that it starts are traced together. */
function isSampled({ traceId, traceFlags }: SpanContext, sample: number | "parent"): boolean {
  if (sample === "parent") return traceFlags === TraceFlags.SAMPLED;
  return Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < sample;
}

/** Writes the W3C trace context. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if (!isSpanContextValid({ traceId, spanId, traceFlags })) return undefined;
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED) === 0 ? "00" : "01"}`;
}
