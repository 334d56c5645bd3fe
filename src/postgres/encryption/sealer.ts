/** Seals the values of a call before it is sent, and opens those of its answer, all at once. */

import { isSealed, sealedMark } from "../../core/codec/stored-value.ts";
import type { Sealing } from "../../core/ports.ts";
import type { Ending } from "../../core/replay/undos.ts";
import { type About, open, seal, sealedWithin, sealSteadily } from "./envelope.ts";
import type { CurrentKey, KeyRing } from "./keys.ts";
import { samenessOf } from "./sameness.ts";
import { answers, calls } from "./shapes.ts";
import { type Met, mail, noteUnreadable, replaced } from "./walk.ts";

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
    const key = await this.#ring.currentOf(call.namespace);
    return await replaced(call, shape, (met) => this.#seal(key, call.namespace, met));
  }

  async open<Answer>(name: string, call: { readonly namespace: string }, answer: Answer): Promise<Answer> {
    const shape = answers[name];
    if (shape === undefined) return answer;
    const unreadable = new Map<number, string>();
    const visit = (met: Met) => {
      if (met.kind !== "end" && met.kind !== "ending" && !isSealed(met.text)) return undefined;
      if (!met.text.includes(sealedMark)) return undefined;
      return this.#open(call.namespace, met, (why) => {
        if (met.turn !== undefined && mail.has(met.kind)) unreadable.set(met.turn, why);
      });
    };
    const opened = await replaced(answer, shape, visit, call);
    for (const [turn, why] of unreadable) noteUnreadable(opened, turn, why);
    return opened;
  }

  /** Answers what comes in the place of a value, or the promise of it. */
  #seal(key: CurrentKey, namespace: string, { text, kind, scope, sent }: Met): string | Promise<string> {
    const about = { namespace, kind, scope };
    switch (kind) {
      case "same":
        return samenessOf(this.#ring, namespace, { stored: text, sent: typeof sent === "string" ? sent : undefined });
      case "why":
        return sealSteadily(this.#ring, key, cut(text), about);
      case "json":
        return sealAsJson(key, text, about);
      case "ending":
        return sealEnding(key, text, about);
      default:
        return seal(key, text, about);
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

async function sealAsJson(key: CurrentKey, text: string, about: About): Promise<string> {
  return JSON.stringify(await seal(key, text, about));
}

async function sealEnding(key: CurrentKey, text: string, about: About): Promise<string> {
  const ending: Ending = JSON.parse(text); // as writeEnding made it
  const sealed = async (error: string) => await seal(key, error, { ...about, kind: "end" });
  const owed = ending.owed.map(async (undo) =>
    undo.error === undefined ? undo : { ...undo, error: await sealed(undo.error) },
  );
  return JSON.stringify({ ...ending, error: await sealed(ending.error), owed: await Promise.all(owed) });
}

function cut(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= longestWhy) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, longestWhy)).replace(/\uFFFD+$/, "")}…`;
}
