/** The clock of a test's world: of the services in this process, of what follows it, and of processes that load travel.ts. */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { WallClock } from "../../../src/core/ports.ts";
import { turnedTimeout } from "./turned-time.ts";

const travel = new URL("./travel.ts", import.meta.url).href;

export class TurnedClock implements WallClock {
  /** How many milliseconds it is ahead of this machine's clock. */
  aheadMs = 0;
  /** Environment variables of a process whose clock is turned with this one. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #file: number;
  readonly #followers: ((ms: number) => Promise<unknown>)[] = [];
  /** Each turn: what it said just before, and by how much it was turned. */
  readonly #turns: { readonly at: number; readonly ms: number }[] = [];

  /** Call it within a test. */
  constructor() {
    const folder = mkdtempSync(join(tmpdir(), "layover-clock-"));
    const path = join(folder, "ahead");
    this.#file = openSync(path, "w");
    this.#write();
    this.variables = { CLOCK_FILE: path, NODE_OPTIONS: `--import=${travel}` };
    onTestFinished(() => {
      closeSync(this.#file);
      rmSync(folder, { recursive: true });
    });
  }

  now(): number {
    return Date.now() + this.aheadMs;
  }

  monotonic(): number {
    return performance.now() + this.aheadMs;
  }

  after(ms: number, act: () => void): () => void {
    const timer = turnedTimeout(() => this.monotonic(), act, ms);
    return () => clearTimeout(timer);
  }

  /** `follower` is told by how many milliseconds the clock was turned, each time in the order in which they follow. */
  follow(follower: (ms: number) => Promise<unknown>): void {
    this.#followers.push(follower);
  }

  async turn(ms: number): Promise<void> {
    this.#turns.push({ at: this.now(), ms });
    this.aheadMs += ms;
    this.#write();
    for (const follower of this.#followers) await follower(ms);
  }

  /** Answers by how much it was turned between two of its instants. The rest of the time went by while this machine was at work. */
  turnedBetween(from: number, to: number): number {
    return this.#turns.reduce((sum, { at, ms }) => sum + Math.max(0, Math.min(to, at + ms) - Math.max(from, at)), 0);
  }

  #write(): void {
    writeSync(this.#file, new Float64Array([this.aheadMs]), 0, 8, 0);
  }
}
