/**
 * Cloudflare without a queue and Durable Objects, around the Worker that `serve` makes: it asks itself by requests, each
 * of which may be late, or lost with the isolate that carries it out. A cron trigger ticks each minute, whatever is
 * armed. A ring of it may be left out, or come twice.
 */

import type { TurnRef } from "../../../src/core/ports.ts";
import { minuteMs } from "../../../src/core/waking.ts";
import type { TurnsMessage } from "../../../src/http/internal.ts";
import { earliest, type Happening } from "../../engine/course.ts";
import type { Mortal } from "../../engine/mortal.ts";
import type { StandingAlarm } from "../../engine/platform.ts";
import { describeTurn } from "../../engine/process.ts";
import { Isolate } from "./isolate.ts";
import type { Ground, Outside, Plan } from "./outside.ts";

/** A request of an isolate to itself, which any isolate may answer. */
interface SelfRequest {
  readonly turns: readonly TurnRef[];
  readonly at: number;
  readonly request: () => Request;
  readonly answer: (response: Promise<Response>) => void;
}

const percentLate = 5;
const latestMs = 2_000;

export class BareCloudflare implements Outside {
  readonly isExact = false;
  readonly graceMs = 0;
  readonly #ground: Ground;
  #isolates: Isolate[] = [];
  #requests: SelfRequest[] = [];
  readonly #underWay = new Map<SelfRequest, Isolate>();
  #rangAt = Number.NEGATIVE_INFINITY;
  #isTwice = false;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** Its clock is right: of a request that was sent long ago by the clock of its receiver the signature is refused. */
  readonly beget = (plan: Plan): Isolate => {
    const bindingsOf = (asking: Isolate) => ({
      SELF: { fetch: (url: string, init: RequestInit) => this.#fetch(url, init, asking) },
    });
    const isolate = new Isolate({ ...plan, skewMs: 0 }, { bindingsOf });
    this.#isolates.push(isolate);
    return isolate;
  };

  /** It rings within every minute. An isolate that knew the time before looks at what is ready. */
  standing(): readonly StandingAlarm[] {
    const now = this.#ground.now();
    return [{ at: now, ringsAt: now, isRinging: true, isUnarmed: true, readyUntil: Number.POSITIVE_INFINITY }];
  }

  happenings(): readonly Happening[] {
    const now = this.#ground.now();
    const isolate = this.#isolates[this.#ground.below(Math.max(1, this.#isolates.length))];
    if (isolate === undefined) return [];
    return [
      ...(this.#isTwice || (this.#ringsAt() ?? Number.POSITIVE_INFINITY) <= now
        ? [{ what: () => `the cron trigger rings, to ${isolate.name}`, act: () => this.#trigger(isolate) }]
        : []),
      ...this.#requests
        .filter(({ at }) => at <= now)
        .map((sent) => ({
          what: () => `a request for ${describe(sent)} comes to ${isolate.name}`,
          act: () => this.#carryOut(sent, isolate),
        })),
    ];
  }

  next(): number | undefined {
    const at = earliest([this.#ringsAt(), ...this.#requests.map((sent) => sent.at)]);
    return at === undefined ? undefined : this.#ground.timeOf(at);
  }

  lose(process: Mortal): void {
    this.#isolates = this.#isolates.filter((isolate) => isolate !== process);
    for (const [sent, isolate] of this.#underWay) {
      if (isolate === process) this.#end(sent, Promise.reject(new Error("the isolate is gone")));
    }
  }

  deployed(): void {} // the cron rings soon

  async #fetch(url: string, init: RequestInit, asking: Isolate): Promise<Response> {
    const { below, now } = this.#ground;
    const { turns }: TurnsMessage = JSON.parse(String(init.body));
    const { promise, resolve } = Promise.withResolvers<Response>();
    // A request that came twice is answered twice. Nobody waits for the second answer.
    const answer = (response: Promise<Response>) => {
      response.catch(() => {});
      if (!asking.isDead) resolve(response);
    };
    promise.catch(() => {});
    await asking.ask("dispatch", describe({ turns }), async () => {
      const at = now() + (below(100) < percentLate ? below(latestMs) : 0);
      this.#requests.push({ turns, at, request: () => new Request(url, init), answer });
    });
    return await promise;
  }

  #carryOut(sent: SelfRequest, isolate: Isolate): void {
    this.#requests = this.#requests.filter((other) => other !== sent);
    this.#underWay.set(sent, isolate);
    const response = isolate.fetch(sent.request(), sent.turns);
    const end = () => this.#end(sent, response);
    void response.then(end, end);
  }

  #end(sent: SelfRequest, response: Promise<Response>): void {
    if (this.#underWay.delete(sent)) sent.answer(response);
  }

  /** When the cron trigger next finds something. What it would ask in vain is left out. */
  #ringsAt(): number | undefined {
    const dueAt = this.#ground.dueAt();
    if (dueAt === undefined) return undefined;
    return Math.max(this.#rangAt + minuteMs, Math.ceil(dueAt / minuteMs) * minuteMs);
  }

  #trigger(isolate: Isolate): void {
    const { now, below, hasTicked } = this.#ground;
    this.#isTwice = !this.#isTwice && below(20) === 0;
    this.#rangAt = Math.floor(now() / minuteMs) * minuteMs;
    if (below(20) === 0) return; // nobody came
    const deployment = isolate.deployment?.id ?? "";
    isolate.trigger(this.#rangAt).then(
      () => hasTicked(deployment),
      () => {},
    );
  }
}

function describe({ turns }: Pick<SelfRequest, "turns">): string {
  return turns.map((turn) => `${turn.runId} ${describeTurn(turn)}`).join();
}
