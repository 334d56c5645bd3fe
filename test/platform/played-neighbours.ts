/** Processes that arm at each other, in time that passes by hand and over a network that breaks by hand. */
import { vi } from "vitest";
import type { ArmMessage, Peer } from "../../src/http/arm.ts";
import { TimerAlarm } from "../../src/platform/node/in-process/timer-alarm.ts";
import { Neighbours } from "../../src/platform/node/neighbours/neighbours.ts";

export const minuteMs = 60_000;
export const noon = Date.UTC(2026, 0, 1, 12);

interface Played {
  readonly name: string;
  readonly neighbours: Neighbours;
  /** When it rang, in seconds since the beginning. */
  readonly rings: number[];
  readonly looks: number[];
  readonly reports: string[];
  arm(...at: readonly number[]): Promise<void>;
  tick(): Promise<void>;
  kill(): void;
  end(): Promise<void>;
}

export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Several processes and what they share. Time stands still from its beginning, until a test has it pass. */
export class Neighbourhood {
  /** The list in the database. */
  readonly listed = new Map<string, { readonly peer: Peer; seenAt: number }>();
  lists: string[] = [];
  calls: string[] = [];
  /** `"a b"`: what a sends to b is lost. */
  cut = new Set<string>();
  /** The processes that can be reached, by their doors. */
  readonly #world = new Map<string, Played>();
  readonly #beganAt: number;

  constructor() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    this.#beganAt = performance.now();
  }

  /** The database's time. */
  now(): number {
    return noon + performance.now() - this.#beganAt;
  }

  #seconds(): number {
    return Math.round((this.now() - noon) / 1_000);
  }

  async aProcess(name: string, versions: Peer["versions"] = { order: [1] }, door = name): Promise<Played> {
    const self = { id: name, door, versions };
    let isDead = false;
    const [rings, looks, reports]: [number[], number[], string[]] = [[], [], []];
    const alarm = new TimerAlarm(() => rings.push(this.#seconds()));
    const tick = async () => await neighbours.refresh();
    const send = async (to: Peer, message: ArmMessage) => {
      this.calls.push(`${name} ${to.id}${message.instants.length > 0 ? ` ${message.instants.length}` : ""}`);
      const other = this.#world.get(to.door);
      if (other === undefined || this.cut.has(`${name} ${to.door}`)) throw new Error("no answer");
      await other.neighbours.receive(message);
    };
    const neighbours = new Neighbours({
      self,
      alarm: alarm.arm,
      send,
      list: async ({ gone, silentMs, isLeaving = false }) => {
        if (isDead) return await new Promise(() => {});
        this.lists.push(`${name} ${this.#seconds()}`);
        for (const id of gone) if ((this.listed.get(id)?.seenAt ?? 0) < this.now() - silentMs) this.listed.delete(id);
        if (isLeaving) this.listed.delete(name);
        else this.listed.set(name, { peer: self, seenAt: this.now() });
        return {
          now: this.now(),
          others: [...this.listed.values()].map(({ peer }) => peer).filter(({ id }) => id !== name),
        };
      },
      ring: () => {
        rings.push(this.#seconds());
        void tick();
      },
      lookAhead: () => {
        looks.push(this.#seconds());
        void tick();
      },
      onError: (error) => reports.push(String(error)),
    });
    const played: Played = {
      name,
      neighbours,
      rings,
      looks,
      reports,
      arm: async (...at) => await neighbours.arm(at.map((each) => ({ at: each, inMs: each - this.now() }))),
      tick,
      kill: () => {
        isDead = true;
        this.#world.delete(door);
        for (const each of this.#world.keys()) this.cut.add(`${name} ${each}`);
        alarm.close();
      },
      end: async () => {
        await neighbours.handOver();
        await neighbours.leave();
        alarm.close();
        this.#world.delete(door);
      },
    };
    this.#world.set(door, played);
    neighbours.begin();
    await tick();
    await pass(0);
    return played;
  }
}
