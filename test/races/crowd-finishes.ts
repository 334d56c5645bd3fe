/** Turns of a crowd: what one of its players holds, and the finish that is made up for it by chance. */
import { motionMinute } from "../../src/core/waking.ts";
import type * as wire from "../../src/postgres/wire.ts";
import { pick } from "./by-chance.ts";
import { aDemand, aRecord } from "./runs.ts";

export interface Ref extends Partial<wire.Place> {
  readonly runId: string;
  readonly turn: number;
}
export interface Held {
  readonly ref: Ref;
  readonly token: string;
  readonly claimed: wire.ClaimedRun | wire.ClaimedBranch;
  /** The finish, once it was made up. It is the same whenever it is sent again. */
  finish?: wire.FinishRun | wire.FinishBranch;
}

/** Makes up finishes, with names that no other one has. */
export class Inventor {
  /** Callbacks that runs wait for, or never will. */
  readonly callbacks: string[] = [];
  #count = 0;

  /** Makes up the finish of a turn. It differs each time. */
  makeUp({ ref, token, claimed }: Held): wire.FinishRun | wire.FinishBranch {
    const { runId, turn, path, occurrence } = ref;
    if (path !== undefined && occurrence !== undefined) {
      const finish = { runId, turn, token, path, occurrence, armed: armed() };
      const times = { beganAt: Date.now(), at: Date.now() };
      if (Math.random() < 0.8)
        return { ...finish, record: { ...times, value: "0", isFailure: Math.random() < 0.2, attempts: 1 } };
      return { ...finish, attempt: { number: turn, beganAt: times.at, endedAt: times.at, error: "0", retryInMs: 0 } };
    }
    const { position } = claimed;
    const records = this.#makeRecords(claimed);
    const finish = { runId, token, position, armed: armed(), ...(records.length > 0 && { records }) };
    const chance = Math.random();
    if (chance < 0.15) return { ...finish, next: "completed", value: "0" };
    if (chance < 0.2) return { ...finish, next: "failed", value: "0" };
    if (chance < 0.4) return { ...finish, next: "ready" };
    const released = racesOf(claimed).map((prefix) => ({ prefix, position }));
    const demands = this.#makeDemands(position + records.length);
    return { ...finish, next: "parked", demands, ...(Math.random() < 0.5 && { released }) };
  }

  /** Makes a record of a step of its own, or of what was offered to one of its waits. */
  #makeRecords(claimed: Held["claimed"]): wire.NewRecord[] {
    const pending = ("pending" in claimed ? claimed.pending : null) ?? [];
    const signal = "signals" in claimed ? claimed.signals?.[0] : undefined;
    const wait = pending.find(({ kind, isReleased }) => kind === "signal" && !isReleased);
    if (signal && wait) return [aRecord("signal", wait.path, { signal: signal.number, at: Date.now() })];
    const answers = ("callbacks" in claimed ? claimed.callbacks : null) ?? [];
    const answer = answers.find(({ path }) => pending.some((row) => row.path === path && row.kind === "callback"));
    if (answer) return [aRecord("callback", answer.path, { at: Date.now() })];
    return Math.random() < 0.5 ? [aRecord("step", this.#name("s"), { at: Date.now() })] : [];
  }

  #makeDemands(demandedAfter: number): wire.NewDemand[] {
    const count = 1 + Math.floor(Math.random() * 4);
    const scope = pick(["", "race", "map"]);
    const prefix = scope === "" ? "" : `${this.#name(scope ?? "")}/`;
    const slots = pick([null, 1, 2]) ?? null;
    const map = { path: `${prefix}${slots}`, slots, failsFast: Math.random() < 0.5 };
    const branches = Array.from({ length: count }, () => {
      const ordinal = this.#next();
      const more = { demandedAfter, ordinal, ...(scope === "map" && { map }) };
      return aDemand("branch", prefix + this.#name(pick(["a", "b", "c", "z"]) ?? ""), more);
    });
    const wait = { demandedAfter, ordinal: this.#next() };
    const name = this.#name("w");
    const waits = [
      aDemand("signal", name, { ...wait, signal: "address" }),
      aDemand("callback", this.#newCallback(), wait),
      aDemand("sleep", name, { ...wait, until: Date.now() + 20 }),
    ];
    const one = pick(waits);
    return one !== undefined && Math.random() < 0.5 ? [...branches, one] : branches;
  }

  /** Makes up a callback. It may be answered before anyone waits for it, or in a run that never will. */
  #newCallback(): string {
    const path = this.#name("callback");
    this.callbacks.push(path);
    return path;
  }

  #name(kind: string): string {
    return `${kind}${this.#next()}`;
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }
}

function racesOf(claimed: Held["claimed"]): string[] {
  const pending = ("pending" in claimed ? claimed.pending : null) ?? [];
  return pending.flatMap(({ path }) => /^race\d+\//.exec(path)?.[0] ?? []);
}

export function armed(): number[] {
  return [motionMinute(Date.now())];
}
