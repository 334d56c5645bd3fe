/** The spans of turns, attempts and waits. Their names and attributes are in README.md. */
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { ErrorValue } from "../../core/codec/error-value.ts";
import type {
  AttemptTrace,
  BegunAttempt,
  BegunTurn,
  EndedWait,
  TurnOutcome,
  TurnTrace,
} from "../../engine/telemetry.ts";
import type { Metrics } from "./metrics.ts";
import { traceOfRun, traceparentOf } from "./trace-of-run.ts";

export interface SpansOptions {
  readonly sample: number | "parent";
  readonly metrics: Metrics;
  /** Is called when there is something to send. */
  readonly gathers: () => void;
}

/** The outcomes of a turn that somebody has to look at. */
const bad: readonly TurnOutcome[] = ["failed", "blocked", "error"];

const waitVerbs = { sleep: "sleep", signal: "wait for signal", callback: "wait for callback", child: "invoke" };

export class Spans {
  readonly #options: SpansOptions;
  #tracer: Tracer | undefined;

  constructor(options: SpansOptions) {
    this.#options = options;
  }

  beginTurn(turn: BegunTurn): TurnTrace {
    const { sample, metrics, gathers } = this.#options;
    const tracer = this.#tracer ?? trace.getTracer("layover");
    this.#tracer = tracer;
    const { parent, first } = traceOfRun(turn, sample);
    const above = trace.setSpanContext(ROOT_CONTEXT, parent);
    const links = first === undefined ? [] : [{ context: first }];
    const span = tracer.startSpan(
      `turn ${turn.workflow}`,
      { kind: SpanKind.CONSUMER, links, attributes: attributesOf(turn) },
      above,
    );
    gathers();
    metrics.noteBegun(turn);
    const { traceId, spanId } = span.spanContext();
    const waits: EndedWait[] = [];
    let isOver = false;
    return {
      trace: { traceId, spanId },
      traceparent: traceparentOf(span.spanContext()),
      beginAttempt: (attempt) => beginAttempt(attempt, { tracer, span, turn, metrics }),
      noteWait: (wait) => void waits.push(wait),
      end: (outcome, error) => {
        if (isOver) return;
        isOver = true;
        const isTaken = !["deferred", "superseded", "error", "left"].includes(outcome);
        if (isTaken) for (const wait of waits) endWait(wait, tracer, above, turn);
        span.setAttribute("layover.turn.outcome", outcome);
        if (bad.includes(outcome)) span.setStatus({ code: SpanStatusCode.ERROR });
        if (error instanceof Error) span.recordException(error);
        span.end();
        metrics.noteEnded(turn, outcome);
      },
    };
  }
}

interface OfTurn {
  readonly tracer: Tracer;
  /** That of the turn. */
  readonly span: Span;
  readonly turn: BegunTurn;
  readonly metrics: Metrics;
}

function beginAttempt({ step, attempt }: BegunAttempt, { tracer, span: above, turn, metrics }: OfTurn): AttemptTrace {
  const at: Context = trace.setSpan(ROOT_CONTEXT, above);
  const attributes = { ...ofRun(turn), "layover.step.name": step, "layover.step.attempt": attempt };
  const span = tracer.startSpan(`step ${withoutItems(step)}`, { attributes }, at);
  const within = trace.setSpan(context.active(), span);
  const { traceId, spanId } = span.spanContext();
  let isOver = false;
  return {
    trace: { traceId, spanId },
    within: (work) => context.with(within, work),
    end: (outcome, error) => {
      if (isOver) return;
      isOver = true;
      span.setAttribute("layover.step.outcome", outcome);
      if (error !== undefined) noteError(span, error);
      span.end();
      metrics.noteAttempt(turn, outcome);
    },
  };
}

function noteError(span: Span, { name, message, stack, code }: ErrorValue): void {
  span.setAttribute("error.type", code ?? name);
  span.recordException({ name, message, ...(stack !== undefined && { stack }) });
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** Sends a wait whole: it may have begun in another process, days ago. It stands beside the turns. */
function endWait(wait: EndedWait, tracer: Tracer, above: Context, turn: BegunTurn): void {
  const { kind, step, outcome, begunAgoMs, endedAgoMs } = wait;
  const now = Date.now();
  const attributes = {
    ...ofRun(turn),
    "layover.step.name": step,
    "layover.wait.kind": kind,
    "layover.wait.outcome": outcome,
  };
  const startTime = now - begunAgoMs;
  tracer.startSpan(`${waitVerbs[kind]} ${withoutItems(step)}`, { attributes, startTime }, above).end(now - endedAgoMs);
}

function attributesOf(turn: BegunTurn): Attributes {
  const { turn: number, branch, deployment, requestId } = turn;
  return {
    ...ofRun(turn),
    "layover.turn.number": number,
    ...(branch !== undefined && { "layover.turn.branch": branch }),
    ...(deployment !== undefined && {
      "layover.deployment.name": deployment.name,
      "layover.deployment.id": deployment.id,
    }),
    ...(requestId !== undefined && { "faas.invocation_id": requestId }),
  };
}

function ofRun({ runId, workflow, version, epoch }: BegunTurn): Attributes {
  return {
    "layover.run.id": runId,
    "layover.run.epoch": epoch,
    "layover.workflow.name": workflow,
    "layover.workflow.version": version,
  };
}

/** A span's name is the same for all items of a map. */
function withoutItems(step: string): string {
  return step.replaceAll(/\[[^\]]*\]|#\d+$/g, "");
}
