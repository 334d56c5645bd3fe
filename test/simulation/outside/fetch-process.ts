/** A process of a host that calls a function with requests: the product's own function, on a clock and ways of the world. */
import type { Client } from "layover";
import { errorIn, type LayoverEvent } from "../../../src/engine/events.ts";
import { shownError } from "../../../src/http/problem.ts";
import { inRequest, onRequest } from "../../../src/platform/fetch/on-request.ts";
import type { WaitUntil } from "../../../src/platform/fetch/options.ts";
import { type Served, servedBy } from "../../../src/platform/fetch/served.ts";
import { Hosted } from "./hosted.ts";
import type { Plan } from "./outside.ts";

export interface FetchProcessOptions {
  /** Where its alarm is. */
  readonly alarmUrl: string;
  readonly send: (asking: FetchProcess, url: string, init: RequestInit) => Promise<Response>;
  /** Whether what goes on after an answer is let go on. Otherwise a request is answered only after it. */
  readonly goesOn: boolean;
  readonly onTicked: () => void;
}

/** The root secret of the deployment. */
export const secret = "a root secret of at least 32 bytes, for tests";

/** The most by which its clock is off, in milliseconds. A signature counts for five minutes. */
const mostOffMs = 60_000;

export class FetchProcess extends Hosted {
  readonly #served: Served;
  readonly #waitUntil: WaitUntil | undefined;
  readonly #onTicked: () => void;

  constructor(plan: Plan, { alarmUrl, send, goesOn, onTicked }: FetchProcessOptions) {
    super({ ...plan, skewMs: Math.round(((plan.skewMs ?? 0) / 600_000) * mostOffMs) });
    const { workflows, namespace, newToken, random, onError, deployment } = plan;
    this.#onTicked = onTicked;
    this.#waitUntil = goesOn ? (work) => void this.#keep(work) : undefined;
    const served = servedBy(
      {
        workflows,
        namespace,
        deployment: () => deployment?.id,
        deploymentName: deployment?.name,
        database: () => this.database(),
        secrets: () => [secret],
        publicUrl: () => plan.publicUrl ?? "https://example.com",
        alarm: () => alarmUrl,
        limit: "15 minutes",
        onLog: () => {},
        onEvent: (event: LayoverEvent) => {
          const [error, doing] = errorIn(event) ?? [];
          if (doing !== undefined) onError?.(error, doing);
        },
      },
      {
        host: this.timers,
        send: (url, init) => send(this, String(url), init ?? {}),
        env: {},
        engine: { atRest: () => this.rest(), newToken, random },
      },
    );
    this.#served = { ...served, begin: () => this.#telling(served.begin()) };
  }

  /** A request from outside, without its HTTP. An error is what the face would make of it. */
  override async request<Answer>(question: (client: Client) => Promise<Answer>): Promise<Answer> {
    try {
      return await this.carryingOut("any", () => inRequest(this.#served, this.#waitUntil, question));
    } catch (error) {
      throw shownError(error);
    }
  }

  /** A request of the alarm. */
  async ring(request: Request): Promise<Response> {
    return await this.carryingOut("any", () => onRequest(this.#served, request, this.#waitUntil));
  }

  async #keep(work: Promise<unknown>): Promise<void> {
    await this.carryingOut("any", () => work).catch(() => {});
  }

  #telling(invocation: ReturnType<Served["begin"]>): ReturnType<Served["begin"]> {
    let hasTicked = false;
    return {
      ...invocation,
      tick: async (readyUntil) => {
        const answer = await invocation.tick(readyUntil);
        hasTicked = true;
        return answer;
      },
      end: async () => {
        const isWhole = await invocation.end();
        if (hasTicked && isWhole) this.#onTicked();
        return isWhole;
      },
    };
  }
}
