/**
 * Flights at rest that this process keeps in memory, so that their runs go on without a replay. It keeps only what the
 * database has confirmed. The number of runs and the bytes of their histories are limited: 60 runs of 12 MiB would hold
 * 768 MB.
 *
 * The next turn of a run takes a flight for itself. Branches borrow a flight that stands exactly where they were
 * demanded, so one replay serves all of them.
 */
import type { Flight } from "./loaded-run.ts";

/** A run that fans out has a flight at its front and one where its branches were demanded. */
const mostOfOneRun = 3;

export class Warm {
  readonly #capacity: number;
  readonly #mostBytes: number;
  #bytes = 0;
  readonly #flights = new Map<string, Flight[]>();

  constructor(capacity: number, mostBytes: number) {
    this.#capacity = capacity;
    this.#mostBytes = mostBytes;
  }

  keep(flight: Flight): void {
    if (this.#capacity === 0) return;
    const kept = (this.#flights.get(flight.runId) ?? []).filter(({ epoch }) => epoch === flight.epoch);
    this.#put(flight.runId, [flight, ...kept.filter((other) => other !== flight)].slice(0, mostOfOneRun));
    for (const oldest of this.#flights.keys()) {
      if (this.#flights.size <= this.#capacity && this.#bytes <= this.#mostBytes) return;
      this.#put(oldest, []);
    }
  }

  /** The flight farthest along, if no branch is at work on it; it is the caller's from now on. */
  take(runId: string): Flight | undefined {
    const flights = this.#flights.get(runId)?.filter(({ borrowers }) => borrowers === 0) ?? [];
    const front = flights.reduce<Flight | undefined>(
      (first, other) => (first === undefined || other.execution.position > first.execution.position ? other : first),
      undefined,
    );
    if (front !== undefined) this.#remove(front);
    return front;
  }

  /** A flight that stands where this branch was demanded. */
  findFor(runId: string, path: string, occurrence: number): Flight | undefined {
    return this.#flights
      .get(runId)
      ?.find(({ execution }) => execution.find(path, occurrence)?.demandedAfter === execution.position);
  }

  findAt(runId: string, epoch: number, position: number): Flight | undefined {
    return this.#flights.get(runId)?.find((flight) => flight.epoch === epoch && flight.execution.position === position);
  }

  forget(runId: string): void {
    this.#put(runId, []);
  }

  /** Puts them in as the youngest. */
  #put(runId: string, flights: Flight[]): void {
    for (const { bytes } of this.#flights.get(runId) ?? []) this.#bytes -= bytes;
    this.#flights.delete(runId);
    if (flights.length === 0) return;
    this.#flights.set(runId, flights);
    for (const { bytes } of flights) this.#bytes += bytes;
  }

  #remove(flight: Flight): void {
    const rest = this.#flights.get(flight.runId)?.filter((other) => other !== flight) ?? [];
    this.#put(flight.runId, rest);
  }
}
