/**
 * The metrics. Turns and ticks that run anyway tell them, and no statement asks for any: what stands still is seen by `layover
 * doctor`. Their names and attributes are in README.md.
 */
import { type Attributes, type Counter, type Histogram, type Meter, metrics } from "@opentelemetry/api";
import type { LayoverEvent } from "../../engine/events.ts";
import type { AttemptOutcome, BegunTurn, TurnOutcome } from "../../engine/telemetry.ts";

interface Instruments {
  readonly turns: Counter;
  readonly attempts: Counter;
  readonly ended: Counter;
  readonly leasesLost: Counter;
  readonly startLateness: Histogram;
  readonly wakeLateness: Histogram;
  readonly due: Counter;
  readonly dispatched: Counter;
  readonly skipped: Counter;
}

export class Metrics {
  readonly #gathers: () => void;
  #made: Instruments | undefined;

  /** `gathers` is called when there is something to send. */
  constructor(gathers: () => void) {
    this.#gathers = gathers;
  }

  /** Tells how late a turn is that has waited for an instant, and how long a new run has waited. */
  noteBegun(turn: BegunTurn): void {
    const { at, readyAt, createdAt, branch } = turn;
    if (turn.turn === 1 && turn.epoch === 0 && branch === undefined)
      this.#instruments.startLateness.record(secondsBetween(readyAt ?? createdAt, at), ofRun(turn));
    else if (readyAt !== undefined) this.#instruments.wakeLateness.record(secondsBetween(readyAt, at), ofRun(turn));
  }

  noteEnded(turn: BegunTurn, outcome: TurnOutcome): void {
    this.#instruments.turns.add(1, { ...ofRun(turn), "layover.turn.outcome": outcome });
  }

  noteAttempt(turn: BegunTurn, outcome: AttemptOutcome): void {
    this.#instruments.attempts.add(1, { ...ofRun(turn), "layover.step.outcome": outcome });
  }

  count(event: LayoverEvent): void {
    switch (event.kind) {
      case "run_completed":
      case "run_failed":
      case "run_cancelled":
        this.#instruments.ended.add(1, { ...ofRun(event), "layover.run.outcome": event.kind.slice("run_".length) });
        break;
      case "lease_lost":
        this.#instruments.leasesLost.add(1);
        break;
      case "schedule_skipped":
        this.#instruments.skipped.add(1, {
          "layover.schedule.name": event.schedule,
          "layover.schedule.skip.cause": event.cause,
        });
        break;
      default:
    }
  }

  countTick({ due, dispatched }: { readonly due: number; readonly dispatched: number }): void {
    this.#instruments.due.add(due);
    this.#instruments.dispatched.add(dispatched);
  }

  get #instruments(): Instruments {
    this.#gathers();
    this.#made ??= instruments(metrics.getMeter("layover"));
    return this.#made;
  }
}

function instruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string) => meter.createCounter(name, { unit, description });
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: boundaries } });
  return {
    turns: counter("layover.turns", "{turn}", "Turns by what became of them"),
    attempts: counter("layover.step.attempts", "{attempt}", "Attempts of steps by their outcome"),
    ended: counter("layover.runs.ended", "{run}", "Runs that have ended"),
    leasesLost: counter("layover.leases.lost", "{lease}", "Turns that ended without a finish"),
    startLateness: seconds("layover.run.start.lateness", "From a start, or its startAt, to the first turn"),
    wakeLateness: seconds("layover.wake.lateness", "From the instant for which a run waited to its turn"),
    due: counter("layover.scheduler.due", "{run}", "Due runs that ticks have found"),
    dispatched: counter("layover.scheduler.dispatched", "{turn}", "Turns that ticks have dispatched"),
    skipped: counter("layover.schedule.skips", "{firing}", "Firings of schedules that started no run"),
  };
}

/** Seconds: from a hop to an alarm that was lost and found by the next sweep. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 3_600, 21_600];

function ofRun({ workflow, version }: { readonly workflow: string; readonly version: number }): Attributes {
  return { "layover.workflow.name": workflow, "layover.workflow.version": version };
}

function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1_000;
}
