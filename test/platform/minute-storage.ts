/** A Durable Object's storage and alarm, in memory, by the rules of Cloudflare's runtime; what is billed is counted. */
import type { MinuteStorage } from "../../src/platform/cloudflare/alarm/minutes.ts";

export class PlayedObject implements MinuteStorage {
  readonly entries = new Map<string, unknown>();
  /** When its alarm is to ring; null while it rings, too. */
  alarmAt: number | null = null;
  /** Rows written: keys, and settings of the alarm. */
  writes = 0;
  /** The next calls of these methods reject. */
  readonly broken = new Set<keyof MinuteStorage>();

  async get(keys: string[]): Promise<Map<string, unknown>> {
    this.#pass("get", keys.length);
    return new Map(keys.flatMap((key) => (this.entries.has(key) ? [[key, this.entries.get(key)]] : [])));
  }

  async put(entries: Record<string, unknown>): Promise<void> {
    this.#pass("put", Object.keys(entries).length);
    for (const [key, value] of Object.entries(entries)) this.entries.set(key, value);
    this.writes += Object.keys(entries).length;
  }

  async delete(keys: string[]): Promise<void> {
    this.#pass("delete", keys.length);
    for (const key of keys) this.entries.delete(key);
    this.writes += keys.length;
  }

  async list(options: { prefix: string; end?: string; limit?: number }): Promise<Map<string, unknown>> {
    this.#pass("list");
    const { prefix, end = "￿", limit } = options;
    const found = [...this.entries].filter(([key]) => key.startsWith(prefix) && key < end);
    return new Map(found.toSorted(([one], [other]) => (one < other ? -1 : 1)).slice(0, limit));
  }

  async getAlarm(): Promise<number | null> {
    this.#pass("getAlarm");
    return this.alarmAt;
  }

  async setAlarm(at: number): Promise<void> {
    this.#pass("setAlarm");
    this.alarmAt = at;
    this.writes += 1;
  }

  #pass(method: keyof MinuteStorage, keys = 0): void {
    if (keys > 128) throw new Error(`${method}: ${keys} keys are more than one call takes`);
    if (this.broken.delete(method)) throw new Error(`the storage fails: ${method}`);
  }
}
