/** Requests to a host from elsewhere: rings of other deployments, and what people have it do. Each may be late, and is lost with its process. */
import type { Client } from "layover";
import { earliest, type Happening, type Source } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { Ground } from "./outside.ts";

interface Request {
  readonly what: string;
  readonly at: number;
  /** Who takes it. Undefined: nobody is there. */
  readonly taker: () => Mortal | undefined;
  readonly act: (process: Mortal, client: Client) => Promise<void>;
  readonly answer: (ended: Promise<void>) => void;
}

/** What somebody has a host do, and asks again for until it has ended well. */
export type Errand = Omit<Request, "at" | "answer">;

export interface RingsOptions {
  readonly ground: Ground;
  readonly takerAt: (address: string) => Mortal | undefined;
}

const percentLate = 10;
const latestMs = 30_000;
/** How soon somebody asks again. */
const againMs = 1_000;

export class Rings implements Source {
  readonly #options: RingsOptions;
  #requests: readonly Request[] = [];
  readonly #underWay = new Map<Request, Mortal>();

  constructor(options: RingsOptions) {
    this.#options = options;
  }

  happenings(): readonly Happening[] {
    const now = this.#options.ground.now();
    return this.#requests
      .filter(({ at }) => at <= now)
      .map((request) => ({ what: () => request.what, act: () => this.#carryOut(request) }));
  }

  next(): number | undefined {
    const { timeOf } = this.#options.ground;
    return earliest(this.#requests.map(({ at }) => timeOf(at)));
  }

  lose(process: Mortal): void {
    for (const [request, carrier] of this.#underWay)
      if (carrier === process) this.#end(request, Promise.reject(new Error("whoever carried it out is gone")));
  }

  /** How a deployment sends a ring. */
  async send(url: string, init: RequestInit | undefined, asking: Mortal): Promise<Response> {
    const { below, now } = this.#options.ground;
    const { readyUntil }: { readyUntil: number } = JSON.parse(String(init?.body));
    const { promise, resolve } = Promise.withResolvers<Response>();
    const answer = (ended: Promise<void>) => {
      const response = ended.then(() => new Response(null, { status: 204 }));
      response.catch(() => {});
      if (!asking.isDead) resolve(response);
    };
    promise.catch(() => {});
    await asking.ask("dispatch", `a ring for ${url}`, async () => {
      const at = now() + (below(100) < percentLate ? below(latestMs) : 0);
      const taker = () => this.#options.takerAt(url);
      this.#add({ what: `a ring comes to ${url}`, at, taker, answer, act: (_, client) => client.ring(readyUntil) });
    });
    return await promise;
  }

  errand(errand: Errand): void {
    const { now } = this.#options.ground;
    const again = () => this.#add({ ...errand, at: now() + againMs, answer });
    const answer = (ended: Promise<void>) => void ended.catch(again);
    this.#add({ ...errand, at: now(), answer });
  }

  #add(request: Request): void {
    this.#requests = [...this.#requests, request];
  }

  #carryOut(request: Request): void {
    this.#requests = this.#requests.filter((other) => other !== request);
    const carrier = request.taker();
    if (carrier === undefined) {
      request.answer(Promise.reject(new Error("nobody is there")));
      return;
    }
    this.#underWay.set(request, carrier);
    const acted = carrier.request((client) => request.act(carrier, client));
    const end = () => this.#end(request, acted);
    void acted.then(end, end);
  }

  #end(request: Request, ended: Promise<void>): void {
    if (this.#underWay.delete(request)) request.answer(ended);
  }
}
