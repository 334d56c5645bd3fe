/** The interface of a store of large values: a bucket, a folder, or whatever else keeps bytes under a name. */

/**
 * Each call may fail, or take effect and fail; then it comes again. It is given up after some time (`timeoutMs`), and `signal` says so. A value is never
 * changed: no two puts have the same key but where one is sent again.
 */
export interface ValueStore {
  /** Keeps these bytes. They are there for every reader once this resolves. */
  put(key: string, bytes: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void>;
  /** Undefined: nothing is there. */
  get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Deletes all of them, up to a hundred. What is not there is deleted. */
  delete(keys: readonly string[], signal: AbortSignal): Promise<void>;
}
