/** A store in memory, whose calls a test may let fail: before they take effect or after it, or they are never answered. */
import type { ValueStore } from "layover/store";

export type Fate = "works" | "fails before" | "fails after" | "is never answered";

export class MemoryStore implements ValueStore {
  readonly values = new Map<string, Uint8Array>();
  /** What becomes of the next calls of each kind, in order. Those after them work. */
  readonly fates: Record<"put" | "get" | "delete", Fate[]> = { put: [], get: [], delete: [] };

  put(key: string, bytes: Uint8Array): Promise<void> {
    return this.#call("put", () => void this.values.set(key, bytes));
  }

  get(key: string): Promise<Uint8Array | undefined> {
    return this.#call("get", () => this.values.get(key));
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#call("delete", () => {
      for (const key of keys) this.values.delete(key);
    });
  }

  async #call<Result>(kind: "put" | "get" | "delete", act: () => Result): Promise<Result> {
    const fate = this.fates[kind].shift() ?? "works";
    if (fate === "fails before") throw new Error("the bucket is away");
    const result = act();
    if (fate === "fails after") throw new Error("the bucket went away");
    if (fate === "is never answered") return await new Promise<never>(() => {});
    return result;
  }
}
