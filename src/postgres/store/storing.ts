/**
 * Takes large values out of a call before it is sent, and puts them into its answer. First the database is told which run will hold
 * them, then they are put, then the call is sent. So whatever dies in between, the next sweep finds what nobody holds.
 */
import type { LargeValues, Query, Sealing } from "../../core/ports.ts";
import { answers, calls } from "../encryption/shapes.ts";
import { type Met, mail, noteUnreadable, replaced } from "../encryption/walk.ts";
import type { Keeper } from "./keeper.ts";
import { digestOf, type Reference, readReference, writeReference } from "./reference.ts";

export interface StoringOptions {
  readonly keeper: Keeper;
  /** Encrypts first. Undefined: nothing is encrypted. */
  readonly before?: Sealing | undefined;
  /** Larger values go to the store, in bytes. */
  readonly above: number;
  readonly mostBytes: number;
  /** The most bytes that one answer brings from the store. */
  readonly memoryBytes: number;
}

/**
 * The calls whose values belong to a run that they name. The others keep theirs in the database: nobody knows the run of signals, schedules
 * and deliveries before the call is carried out, and a transaction (finish_once, startIn) has a connection, where the pool may have no second
 * one.
 */
const ofRuns: ReadonlySet<string> = new Set([
  ...["start_run", "signal_with_start", "answer_callback", "finish_turns"],
  ...["retry_run", "restart_run", "fork_run"],
]);
const kept: ReadonlySet<Met["kind"]> = new Set(["input", "callback", "record", "end"]);

interface Held {
  readonly runId: string;
  readonly key: string;
  readonly bytes: number;
}

interface Outgoing extends Held {
  readonly value: Uint8Array<ArrayBuffer>;
}

/** A call, with the fields by which the database knows its sender. */
interface Named {
  readonly namespace: string;
  readonly endpoint?: string;
  readonly environment?: string;
  readonly keyId?: string;
  readonly sessionId?: string;
}

export class Storing implements Sealing {
  readonly store: LargeValues;
  readonly #options: StoringOptions;

  constructor(options: StoringOptions) {
    const { keeper, above, mostBytes, memoryBytes } = options;
    this.#options = options;
    this.store = { above, mostBytes, memoryBytes, delete: (keys) => keeper.delete(keys) };
  }

  upon(before: Sealing): Sealing {
    return new Storing({ ...this.#options, before });
  }

  async seal<Call extends Named>(name: string, call: Call, query: Query): Promise<Call> {
    const { before } = this.#options;
    const sealed = before === undefined ? call : await before.seal(name, call, query);
    const shape = calls[name];
    if (shape === undefined || !ofRuns.has(name) || "commitWithinMs" in call) return sealed;
    const { keeper } = this.#options;
    const newRunId = name === "fork_run" && "newRunId" in call ? String(call.newRunId) : undefined;
    const outgoing: Outgoing[] = [];
    const stored = await replaced(sealed, shape, (met) =>
      this.#take(met, { namespace: call.namespace, runId: newRunId ?? met.runId, outgoing }),
    );
    if (outgoing.length === 0) return sealed;
    const values: Held[] = outgoing.map(({ runId, key, bytes }) => ({ runId, key, bytes }));
    // The database refuses a sender here as it would refuse the call, so nothing is put for that.
    const { namespace, endpoint, environment, keyId, sessionId } = call;
    const held = { namespace, endpoint, environment, keyId, sessionId, values };
    await query("select layover.hold_values($1) as answer", [JSON.stringify(held)]);
    await Promise.all(outgoing.map(({ key, value }) => keeper.put(key, value)));
    return stored;
  }

  async open<Answer>(name: string, call: Named, answer: Answer): Promise<Answer> {
    const { before, keeper, memoryBytes } = this.#options;
    const shape = answers[name];
    if (shape === undefined) return before === undefined ? answer : await before.open(name, call, answer);
    const unreadable = new Map<number, string>();
    let room = memoryBytes;
    const visit = ({ text, kind, turn }: Met) => {
      const reference = readReference(text);
      if (reference === undefined) return undefined;
      const isTooMuch = reference.bytes > room;
      if (!isTooMuch) room -= reference.bytes;
      return this.#fetch(keeper, reference, isTooMuch, (why) => {
        if (turn !== undefined && mail.has(kind)) unreadable.set(turn, why);
      });
    };
    const fetched = await replaced(answer, shape, visit, call);
    for (const [turn, why] of unreadable) noteUnreadable(fetched, turn, why);
    return before === undefined ? fetched : await before.open(name, call, fetched);
  }

  /** Undefined: the text stays where it is. */
  #take(
    met: Met,
    {
      namespace,
      runId,
      outgoing,
    }: { readonly namespace: string; readonly runId: string | undefined; readonly outgoing: Outgoing[] },
  ): Promise<unknown> | undefined {
    const { text, kind, sent } = met;
    const { before, above } = this.#options;
    if (text.length * 3 <= above) return undefined;
    const value = new TextEncoder().encode(text);
    if (value.length <= above) return undefined;
    // Postgres compares what was sent by this digest, as it cannot compare the references.
    if (kind === "same") return before === undefined && sent === undefined ? digestOf(value) : undefined;
    if (!kept.has(kind) || runId === undefined) return undefined;
    const key = `${namespace}/${runId}/${crypto.randomUUID()}`;
    outgoing.push({ runId, key, bytes: value.length, value });
    return digestOf(value).then((digest) => writeReference({ bytes: value.length, digest, key }));
  }

  async #fetch(
    keeper: Keeper,
    reference: Reference,
    isTooMuch: boolean,
    onFailure: (why: string) => void,
  ): Promise<string> {
    const got = isTooMuch
      ? { why: `its stored values are more than ${this.#options.memoryBytes} bytes together (memoryBytes)` }
      : await keeper.get(reference);
    if ("text" in got) return got.text;
    onFailure(got.why);
    return `!${got.why}`;
  }
}
