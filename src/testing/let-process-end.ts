/**
 * Postgres reports statistics some time after it fell idle, and within PGlite the timer for that holds the process for
 * 10 s after the last test. Statements are carried out synchronously, so what sets a timer meanwhile is Postgres alone.
 */
interface Synchronous {
  execProtocolRawSync(message: Uint8Array): Uint8Array;
}

export function letProcessEnd(database: Synchronous): void {
  const send = database.execProtocolRawSync.bind(database);
  database.execProtocolRawSync = (message) => {
    const { setTimeout } = globalThis;
    const unheld = (act: () => void, ms?: number) => setTimeout(act, ms).unref();
    globalThis.setTimeout = Object.assign(unheld, setTimeout);
    try {
      return send(message);
    } finally {
      globalThis.setTimeout = setTimeout;
    }
  };
}
