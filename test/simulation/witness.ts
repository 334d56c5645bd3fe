/** Whoever sees what bodies and handlers really did, whatever was recorded of it. One for all processes. */
import { beginningsIn } from "../engine/beginnings.ts";
import type { Waiting } from "../engine/mortal.ts";
import { type Account, Ledger } from "./ledger.ts";
import type { RunRows } from "./snapshot.ts";
import { isUndone } from "./undoing.ts";

export interface WitnessOptions {
  /** Answers a run's rows as they stood at the last look. */
  readonly rowsOf: (runId: string) => RunRows | undefined;
  /** Whether a lease may end before its time, so that two may carry out the same. */
  readonly areLeasesCut: () => boolean;
  /** Gets what is wrong. */
  readonly object: (wrong: string) => void;
}

/** What a run's bodies and handlers did. */
export interface Testimony {
  /** How many steps had their bodies carried out. */
  readonly bodies: number;
  /** What it has said of itself. */
  readonly said: ReadonlySet<string>;
  /** The versions whose code has returned for it. */
  readonly returned: ReadonlySet<string>;
  readonly account: Account;
  /** How many of its turns were about to begin alone. */
  readonly beginnings: number;
}

export class Witness {
  readonly #options: WitnessOptions;
  /** The idempotency keys of the bodies that were carried out, by run. */
  readonly #bodies = new SetsByRun();
  readonly #said = new SetsByRun();
  readonly #returned = new SetsByRun();
  /** The leases of turns that were about to begin alone, by run. */
  readonly #beginnings = new SetsByRun();
  /** The steps that may be carried out at most once, and were: by run, epoch and key. */
  readonly #once = new Set<string>();
  /** How often bodies or handlers asked for something. */
  readonly #tries = new Map<string, number>();
  readonly ledger = new Ledger((runId, key) => this.#noteUndo(runId, key));

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  of(runId: string): Testimony {
    return {
      bodies: this.#bodies.of(runId).size,
      said: this.#said.of(runId),
      returned: this.#returned.of(runId),
      account: this.ledger.of(runId),
      beginnings: this.#beginnings.of(runId).size,
    };
  }

  noteCall(call: Waiting): void {
    for (const { runId, token } of beginningsIn(call)) this.#beginnings.add(runId, token);
  }

  noteBody(runId: string, key: string, isCleanup = false): void {
    if (!isCleanup && this.#isTold(runId)) this.#options.object(`${runId} closes, and a step in no cleanup began`);
    this.#bodies.add(runId, key);
  }

  /** A retry may ask for it once more. It begins the next epoch. */
  noteOnce(runId: string, key: string): void {
    const once = `${runId} ${this.#options.rowsOf(runId)?.epoch} ${key}`;
    if (this.#once.has(once))
      this.#options.object(`of ${runId}: a step was carried out twice that may be so at most once`);
    this.#once.add(once);
  }

  noteStatus(runId: string, status: string): void {
    this.#said.add(runId, status);
  }

  noteReturn(runId: string, version: number): void {
    this.#returned.add(runId, String(version));
  }

  nextTry(what: string): number {
    const tries = (this.#tries.get(what) ?? 0) + 1;
    this.#tries.set(what, tries);
    return tries;
  }

  #noteUndo(runId: string, key: string): void {
    this.#bodies.add(runId, key);
    const run = this.#options.rowsOf(runId);
    if (run !== undefined && !this.#options.areLeasesCut() && isUndone(run, key))
      this.#options.object(`an undo of ${runId} was recorded, and was carried out again`);
  }

  /** Whether the run's cancel or its ending is recorded, and no lease was cut short that was given before. */
  #isTold(runId: string): boolean {
    const run = this.#options.rowsOf(runId);
    return run !== undefined && !this.#options.areLeasesCut() && (run.closings > 0 || run.ending !== null);
  }
}

class SetsByRun {
  readonly #sets = new Map<string, Set<string>>();

  of(runId: string): ReadonlySet<string> {
    return this.#sets.get(runId) ?? new Set();
  }

  add(runId: string, item: string): void {
    this.#sets.set(runId, (this.#sets.get(runId) ?? new Set()).add(item));
  }
}
