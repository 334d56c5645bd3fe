/**
 * The rings of the stand-alone alarm on their way to the app. A ring may come late or twice, or be lost, or its answer is; the
 * app may be down for hours.
 */
import type { RingMessage } from "../../../src/http/alarm.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { FetchProcess } from "./fetch-process.ts";
import type { Ground } from "./outside.ts";

/** A request of the alarm to the app. */
interface Ring {
  readonly at: number;
  readonly request: () => Request;
  readonly message: RingMessage;
  /** What the alarm hears. A ring whose answer is lost has none. */
  readonly answer: ((response: Promise<Response>) => void) | undefined;
}

/** How many rings in a hundred come late, or twice. */
const percentLate = 10;
const latestMs = 20_000;
const percentTwice = 5;
/** One ring of so many is lost, and of one as many the answer. */
const losing = 40;

export class FetchRings {
  readonly #ground: Ground;
  readonly #underWay = new Map<Ring, FetchProcess>();
  #rings: Ring[] = [];

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** The rings that come to this process now. */
  happenings(process: FetchProcess): readonly Happening[] {
    const now = this.#ground.now();
    return this.#rings
      .filter(({ at }) => at <= now)
      .map((ring) => ({
        what: () => `a ring${ring.message.isSweep ? " of the sweep" : ""} comes to ${process.name}`,
        act: () => this.#carryOut(ring, process),
      }));
  }

  /** When the next ring comes. */
  next(): number | undefined {
    return earliest(this.#rings.map((ring) => ring.at));
  }

  send(url: string, init: RequestInit): Promise<Response> {
    const { below, now } = this.#ground;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    init.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true });
    const request = () => new Request(url, { method: "POST", headers: init.headers ?? {}, body: init.body ?? null });
    const message: RingMessage = JSON.parse(String(init.body));
    const at = now() + (below(100) < percentLate ? below(latestMs) : 0);
    const isAnswered = below(losing) > 0;
    const ring = { at, request, message, answer: isAnswered ? resolve : undefined };
    if (below(losing) > 0) this.#rings.push(ring);
    if (below(100) < percentTwice) this.#rings.push({ ...ring, at: at + below(latestMs), answer: undefined });
    return promise;
  }

  lose(process: FetchProcess): void {
    for (const [ring, carrier] of this.#underWay)
      if (carrier === process) this.#end(ring, Promise.resolve(new Response(null, { status: 502 })));
  }

  #carryOut(ring: Ring, process: FetchProcess): void {
    this.#rings = this.#rings.filter((other) => other !== ring);
    if (this.#isDown) {
      ring.answer?.(Promise.resolve(new Response(null, { status: 503 })));
      return;
    }
    this.#underWay.set(ring, process);
    const response = process.ring(ring.request());
    void response.then(() => this.#end(ring, response));
  }

  #end(ring: Ring, response: Promise<Response>): void {
    if (this.#underWay.delete(ring)) ring.answer?.(response);
  }

  get #isDown(): boolean {
    const { refusal, timeOf, now } = this.#ground;
    const at = timeOf(now());
    return refusal !== undefined && at >= refusal.fromMs && at < refusal.untilMs;
  }
}
