/** A store in a bucket of Cloudflare's R2, by the binding of a Worker. */
import type { ValueStore } from "./value-store.ts";

/** The part of `R2Bucket` that is used. */
export interface R2BucketLike {
  put(key: string, value: Uint8Array<ArrayBuffer>): Promise<unknown>;
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
  delete(keys: string[]): Promise<void>;
}

/**
 * Makes a store of a bucket's binding. R2's own calls cannot be given up: what comes after their time is not waited for.
 *
 * @example withStore(neon(env.DATABASE_URL), { store: r2Store(env.VALUES) })
 */
export function r2Store(bucket: R2BucketLike): ValueStore {
  return {
    async put(key, bytes) {
      await bucket.put(key, bytes);
    },
    async get(key) {
      const found = await bucket.get(key);
      return found === null ? undefined : new Uint8Array(await found.arrayBuffer());
    },
    async delete(keys) {
      await bucket.delete([...keys]);
    },
  };
}
