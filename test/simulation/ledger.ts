/** What has really been done and undone, whatever was recorded of it: the bodies of steps that have an undo, and undos. */
import { createHmac } from "node:crypto";
import { toUuid } from "../../src/core/replay/seeded.ts";
import type { ProgramLedger, UndoAtWork } from "./programs/part.ts";

export interface Account {
  /** The keys of the steps with an undo whose bodies were carried out. */
  readonly charged: ReadonlySet<string>;
  /** Every execution of an undo, in order. */
  readonly undone: readonly UndoAtWork[];
}

export class Ledger implements ProgramLedger {
  readonly #charged = new Map<string, Set<string>>();
  readonly #undone = new Map<string, UndoAtWork[]>();
  readonly #onUndo: (runId: string, key: string) => void;

  constructor(onUndo: (runId: string, key: string) => void) {
    this.#onUndo = onUndo;
  }

  charge(runId: string, idempotencyKey: string): void {
    this.#charged.set(runId, (this.#charged.get(runId) ?? new Set()).add(idempotencyKey));
  }

  undo(runId: string, undo: UndoAtWork): void {
    this.#undone.set(runId, [...(this.#undone.get(runId) ?? []), undo]);
    this.#onUndo(runId, undo.key);
  }

  of(runId: string): Account {
    return { charged: this.#charged.get(runId) ?? new Set(), undone: this.#undone.get(runId) ?? [] };
  }
}

/** Answers the key of a step by its place: `ship[3]/send#1`. */
export function keyOf({ runId, epoch }: { readonly runId: string; readonly epoch: number }, place: string): string {
  return toUuid(createHmac("sha256", `${runId}/${epoch}`).update(`idempotency/${place}`).digest());
}
