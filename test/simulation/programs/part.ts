/**
 * A program is a part that may have parts. Each knows how it is played, what may come of it, and how it reads; so a
 * verb is one file, and nobody else asks of which kind a part is.
 *
 * Parts are found by their trail: `1.0[2]` is the third round of the first part of the second one. The results of steps
 * and the answers to callbacks name it, so a value says where it came from.
 */
import type fc from "fast-check";
import type { ProgramStep, SignalName } from "./contract.ts";
import type { Prospects } from "./prospects.ts";

export interface Program {
  readonly kind: string;
  /** Its parts, each as often as it is played at most. */
  readonly parts: readonly Program[];
  /** The signal that it waits for. */
  readonly takes?: SignalName;
  /** The signal whose name it closes. */
  readonly closes?: SignalName;
  play(playing: Playing): Promise<unknown>;
  /** Answers what may come of it, in any order of events and whoever dies. */
  prospects(judging: Judging): Prospects;
  /** Writes an expression for what `play` resolves to, as in the body of an async function in TypeScript. */
  inWords(at: string): string;
}

/** Who plays, and where. */
export interface Playing {
  readonly step: ProgramStep;
  readonly runId: string;
  readonly at: string;
  readonly world: ProgramWorld;
  /** The cleanups that the handler is in, by their trails. Those in a race are left out: who loses it does not go on. */
  readonly entered: Set<string>;
  /** Whether this stands in a cleanup. */
  readonly isCleanup?: boolean;
}

/** What is kept of the steps that can be undone, and of their undos. */
export interface ProgramLedger {
  /** Notes that the body of a step with an undo is carried out. */
  charge(runId: string, idempotencyKey: string): void;
  undo(runId: string, undo: UndoAtWork): void;
}

/** An execution of an undo. */
export interface UndoAtWork {
  readonly key: string;
  readonly attempt: number;
  /** The key of its step, or the id of the run that it undoes. */
  readonly of: string;
  readonly outcome: "succeeded" | "unknown";
  /** Whether it was given what its step or run returned, or nothing where that is unknown. */
  readonly isResultRight: boolean;
  /** Whether one of its attempts fails for good. */
  readonly mayFail: boolean;
  /** Whether this attempt goes wrong. */
  readonly isInTrouble: boolean;
}

/** What bodies may ask of the world around them. One for all processes. */
export interface ProgramWorld {
  /** Notes that the body of a step is carried out. `isCleanup`: of a step in a cleanup. */
  onBody(runId: string, idempotencyKey: string, isCleanup?: boolean): void;
  /** Notes that the body of a step is carried out that may be so at most once. */
  onBodyOfOnce?(runId: string, idempotencyKey: string): void;
  /** Notes what a run says of itself. */
  onStatus?(runId: string, status: string): void;
  /** Notes that the code of a version has returned for a run. */
  onReturn?(runId: string, version: number): void;
  /** Left out where nobody looks at the undos. */
  readonly ledger?: ProgramLedger;
  /** Answers how often somebody was asked for this, by whatever process, counted from 1. */
  nextTry(what: string): number;
  /** Kills the process that asks. */
  die(): Promise<never>;
  /** Resolves after this time, as something that the process awaits. Without a time it never does. */
  foreign(ms?: number): Promise<void>;
  /** Asks somebody outside for a signal, who sends it in a moment. */
  beckon(letter: { readonly runId: string; readonly name: SignalName; readonly payload: number }): void;
  /** Asks somebody outside for an answer; again, where the body is carried out again. */
  invite(invitation: { readonly runId: string; readonly token: string; readonly plan: CallbackPlan }): void;
}

/** What the people outside do once they are invited. */
export interface CallbackPlan {
  readonly answer: "resolve" | "reject" | "never";
  /** What they answer, or the reason why they reject. No two plans of a run have the same. */
  readonly value: string;
  readonly afterMs: number;
  /** Whether somebody gives another answer once the first one is acknowledged or refused. It is to be refused. */
  readonly twice: boolean;
}

/** What really came to a run from outside. */
export interface Facts {
  /** Signals that came to the run, in no particular order. */
  readonly signals: readonly { readonly name: string; readonly payload: unknown }[];
  /** Answers of which it is known what became of them. */
  readonly answered: readonly Answered[];
  /**
   * How many processes were about to begin a turn of the run that they had claimed alone. Five without a finish make a
   * step fail. Default: 0.
   */
  readonly beginnings?: number;
}

export interface Answered {
  /** Value of the callback's plan. */
  readonly value: string;
  /** Whether it was accepted. An answer that was accepted is taken. */
  readonly isAccepted: boolean;
}

export interface Judging {
  readonly at: string;
  readonly facts: Facts;
  /** How many waits for a signal of this name the whole program has. */
  readonly takers: (name: SignalName) => number;
  /** Whether some part of the program closes this name. */
  readonly isClosed: (name: SignalName) => boolean;
  /** Whether some part of the program awaits something that is no step, so that a turn may end before the handler is at rest. */
  readonly mayDrift: boolean;
}

/** How a verb makes its parts at random. */
export interface Verb {
  /** How often the verb comes, relative to the others. */
  readonly weight: number;
  readonly arbitrary: (inner: fc.Arbitrary<Program>) => fc.Arbitrary<Program>;
  /** Makes programs that always return the same, of parts that do. Left out where the verb makes none. */
  readonly orderly?: (inner: fc.Arbitrary<Program>) => fc.Arbitrary<Program>;
}

/** Answers the trail of the part at `index`. */
export function partAt(at: string, index: number | string): string {
  return at === "" ? `${index}` : `${at}.${index}`;
}

/** Answers the trail of a part's round: of a map's item, of a loop's turn. */
export function roundAt(at: string, round: number | string): string {
  return `${at}[${round}]`;
}

/** Answers what a part at this trail returns. */
export function markOf(name: string, at: string): string {
  return `${name}@${at}`;
}
