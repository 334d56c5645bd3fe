/** Seals the values of a call before it is sent, and opens those of its answer, all at once. */

import { isSealed, sealedMark } from "../../core/codec/stored-value.ts";
import type { Sealing } from "../../core/ports.ts";
import { type About, open, seal, sealedWithin } from "./envelope.ts";
import type { KeyRing } from "./keys.ts";
import { samenessOf } from "./sameness.ts";
import { answers, calls } from "./shapes.ts";
import { type Met, mail, noteUnreadable, replaced, walk } from "./walk.ts";

/** SQL keeps 2,000 characters of why a run does not get on. An envelope of so many bytes is shorter. */
const longestWhy = 1_400;

export class Sealer implements Sealing {
  readonly #ring: KeyRing;

  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  async seal<Call extends { readonly namespace: string }>(name: string, call: Call): Promise<Call> {
    const shape = calls[name];
    if (shape === undefined) return call;
    return await replaced(
      call,
      (visit) => walk(call, shape, visit),
      (met) => this.#seal(call.namespace, met),
    );
  }

  async open<Answer>(name: string, call: { readonly namespace: string }, answer: Answer): Promise<Answer> {
    const shape = answers[name];
    if (shape === undefined) return answer;
    const unreadable = new Map<number, string>();
    const opened = await replaced(
      answer,
      (visit) => walk(answer, shape, visit, call),
      (met) => {
        if (met.kind !== "end" && met.kind !== "ending" && !isSealed(met.text)) return undefined;
        if (!met.text.includes(sealedMark)) return undefined;
        return this.#open(call.namespace, met, (why) => {
          if (met.turn !== undefined && mail.has(met.kind)) unreadable.set(met.turn, why);
        });
      },
    );
    for (const [turn, why] of unreadable) noteUnreadable(opened, turn, why);
    return opened;
  }

  async #seal(namespace: string, { text, kind, scope, sent }: Met): Promise<unknown> {
    const about = { namespace, kind, scope };
    switch (kind) {
      case "same":
        return await samenessOf(this.#ring, namespace, {
          stored: text,
          sent: typeof sent === "string" ? sent : undefined,
        });
      case "why":
        return await seal(this.#ring, cut(text), about, true);
      case "json":
        return JSON.stringify(await seal(this.#ring, text, about, false));
      case "ending": {
        const ending: { readonly error: string } = JSON.parse(text); // as writeEnding made it
        const error = await seal(this.#ring, ending.error, { ...about, kind: "end" }, false);
        return JSON.stringify({ ...ending, error });
      }
      default:
        return await seal(this.#ring, text, about, false);
    }
  }

  /** `onFailure` is told why it cannot be opened. */
  async #open(namespace: string, met: Met, onFailure: (why: string) => void): Promise<unknown> {
    const { text, kind, scope } = met;
    const about = { namespace, kind, scope };
    if (!isSealed(text)) return await this.#openWithin(text, { ...about, kind: kind === "ending" ? "end" : "reason" });
    const opened = await open(this.#ring, text, about);
    if ("why" in opened) onFailure(opened.why);
    if (kind === "json") return "why" in opened ? { unreadable: opened.why } : JSON.parse(opened.text);
    if ("text" in opened) return opened.text;
    return kind === "why" || kind === "reason" ? `(unreadable: ${opened.why})` : `!${opened.why}`;
  }

  /** Opens what lies within the texts of a json that SQL made, or that SQL reads. */
  async #openWithin(json: string, about: About): Promise<string> {
    const parts = await Promise.all(
      [...json.matchAll(sealedWithin)].map(async ([sealed]) => {
        const opened = await open(this.#ring, sealed, about);
        if ("text" in opened) return opened.text;
        return about.kind === "reason" ? `(unreadable: ${opened.why})` : `!${opened.why}`;
      }),
    );
    let next = 0;
    return json.replaceAll(sealedWithin, () => JSON.stringify(parts[next++]).slice(1, -1));
  }
}

function cut(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= longestWhy) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, longestWhy)).replace(/\uFFFD+$/, "")}…`;
}
