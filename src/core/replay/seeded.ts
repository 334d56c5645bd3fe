/** Randomness that a replay repeats: numbers and ids made of seeded bytes. */

/** A number in [0, 1) of 53 bits. */
export function toRandom(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes.subarray(0, 6)) value = value * 256 + byte;
  return (value * 32 + ((bytes[6] ?? 0) & 31)) / 2 ** 53;
}

/** A uuid of version 8 (RFC 9562: bits of the application's own making). */
export function toUuid(bytes: Uint8Array): string {
  const id = bytes.slice(0, 16);
  id[6] = ((id[6] ?? 0) & 0x0f) | 0x80;
  id[8] = ((id[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(id, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A uuid of version 7 of this instant (epoch milliseconds): the id of a run that another run starts. */
export function toRunId(bytes: Uint8Array, at: number): string {
  const time = at.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${lastingPart(toUuid(bytes))}`;
}

/** The part of such an id that is the same whenever the run is asked for: a retry may ask for it later. */
export function lastingPart(runId: string): string {
  return runId.slice(15);
}

/** Makes the key that all attempts of a step hand to the service that they call. */
export function idempotencyKey(
  seed: (text: string) => Uint8Array,
  { path, occurrence }: { readonly path: string; readonly occurrence: number },
): string {
  return toUuid(seed(`idempotency/${path}#${occurrence}`));
}
