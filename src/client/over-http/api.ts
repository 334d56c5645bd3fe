/**
 * One request to a layover API, and everything about it that has to do with the wire: the address, the key, the codec,
 * errors that come back as they were thrown, and sending again what may have been lost.
 *
 *   const api = new Api({ url: "https://example.com/layover", apiKey: env.LAYOVER_API_KEY });
 *   const { runId } = await api.post(pathOf("v1", "workflows", "order", "runs"), { input, runId: v7() });
 *
 * Nothing here is Node's: it runs in browsers, Workers, Bun and Deno alike.
 */
import { encode } from "../../core/codec/codec.ts";
import { type ResolvedRetry, type RetryPolicy, resolveRetry, retryDelay } from "../../core/contract/retry.ts";
import { type Duration, formatDuration, toMilliseconds } from "../../core/duration.ts";
import { LayoverError } from "../../core/errors.ts";
import { checkName } from "../../core/names.ts";
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import { type Outcome, outcomeOf, textOf } from "./api-answer.ts";
import { problemType, valueType } from "./media-type.ts";

export interface ApiOptions {
  /** The address of layover, with its prefix: `https://example.com/layover`. In a browser `/layover` will do. */
  readonly url: string | URL;
  /**
   * `lok_…`. Not in a page, where everybody can read it: there leave it out and have cookies tell who calls (see
   * `authenticate` in app.ts).
   */
  readonly apiKey?: string | undefined;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What sends the requests. Default: the global `fetch`. Another one is that of a service binding. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /**
   * How requests are sent again that got lost, or were answered by 429, 502, 503 or 504. Default: 5 attempts in all;
   * the second after up to 200 ms, then twice as long each time, up to 10 s. A `Retry-After` of up to a minute is obeyed.
   */
  readonly retry?: RetryPolicy | undefined;
  /**
   * The time limit of one attempt. Default: 30 s. Timers know no more than 24 days, so a longer one counts as 24 days.
   */
  readonly timeout?: Duration | undefined;
  readonly host?: HostClock | undefined;
}

export interface RequestOptions {
  /** What is undefined is left out; a list is given once for each item. */
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gives up, with its reason; what was sent may take effect nevertheless. */
  readonly abortSignal?: AbortSignal | undefined;
  /** How long the server was asked to wait before it answers: that much longer may an attempt take. */
  readonly waitMs?: number | undefined;
  /** No attempt begins later than so long after the first one. Default: any. */
  readonly patienceMs?: number | undefined;
  /** Leave the API key out: the path itself is the permission. */
  readonly isPublic?: boolean | undefined;
}

const longestRetryAfterMs = 60_000;
/** Servers have limits of their own; this one only spares the memory here. */
const mostBytes = 64 * 1024 * 1024;
/** A longer timer fires at once. */
const longestTimerMs = 2 ** 31 - 1;

export class Api {
  readonly #base: string;
  readonly #apiKey: string | undefined;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: NonNullable<ApiOptions["fetch"]>;
  readonly #retry: ResolvedRetry;
  readonly #timeoutMs: number;
  readonly #host: HostClock;

  /** @throws LayoverError `invalid_request`, `invalid_retry`, `invalid_duration` */
  constructor({ url, apiKey, headers = {}, fetch, retry, timeout = 30_000, host = hostClock }: ApiOptions) {
    this.#base = baseOf(url);
    this.#apiKey = apiKey === undefined ? undefined : checkApiKey(apiKey);
    this.#headers = headers;
    // Called as a function of its own: browsers refuse `this.#fetch(…)` with "Illegal invocation".
    this.#fetch = fetch ?? ((address, init) => globalThis.fetch(address, init));
    this.#retry = resolveRetry({ delay: 200, maxDelay: "10s", ...retry });
    this.#timeoutMs = toMilliseconds(timeout, { field: "timeout" });
    this.#host = host;
  }

  /**
   * What is at `path`, below the url.
   *
   * @throws LayoverError of the server, with its code; `unreachable`, `unexpected_answer`
   */
  get(path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.#request({ method: "GET" }, path, options);
  }

  /**
   * Sends `body`, any value that can be stored. It may be sent several times, so what it does must be repeatable: have
   * it carry an id (`runId`, `signalId`) that was made once.
   *
   * @throws LayoverError as {@link get}; `unstorable_value`, `too_deep`, `value_too_large`
   */
  post(path: string, body: unknown, options: RequestOptions = {}): Promise<unknown> {
    const text = encode(body, { what: "the request", maxBytes: mostBytes });
    return this.#request({ method: "POST", body: text }, path, options);
  }

  /** Deletes what is at `path`. It may be sent several times. @throws LayoverError as {@link get} */
  delete(path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.#request({ method: "DELETE" }, path, options);
  }

  async #request(init: RequestInit, path: string, options: RequestOptions): Promise<unknown> {
    const headers = this.#headersOf(init, options);
    const { patienceMs = Number.POSITIVE_INFINITY, abortSignal } = options;
    const latest = this.#host.monotonic() + patienceMs;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt({ ...init, headers }, path, options);
      if ("value" in outcome) return outcome.value;
      const { error, isPassing, retryAfterMs = 0 } = outcome;
      if (!isPassing || attempt >= this.#retry.maxAttempts) throw error;
      const pauseMs = retryDelay(this.#retry, attempt, Math.random()) + Math.min(retryAfterMs, longestRetryAfterMs);
      if (this.#host.monotonic() + pauseMs > latest) throw error;
      await pause(this.#host, Math.min(pauseMs, longestTimerMs), abortSignal);
    }
  }

  async #attempt(init: RequestInit, path: string, { query = {}, abortSignal, waitMs = 0 }: RequestOptions) {
    abortSignal?.throwIfAborted();
    const timeoutMs = Math.min(this.#timeoutMs + waitMs, longestTimerMs);
    // Not AbortSignal.any of AbortSignal.timeout, which may be collected before its time: nodejs/node#57867.
    const given = new AbortController();
    const timer = setTimeout(() => given.abort(new DOMException("it took too long", "TimeoutError")), timeoutMs);
    const giveUp = () => given.abort(abortSignal?.reason);
    abortSignal?.addEventListener("abort", giveUp, { once: true });
    try {
      // A redirect is an answer: followed, a POST would become a GET, and a key might go where it does not belong.
      const terms: RequestInit = { ...init, signal: given.signal, redirect: "manual" };
      const response = await this.#fetch(`${this.#base}${path}${searchOf(query)}`, terms);
      return outcomeOf(response, await textOf(response, mostBytes));
    } catch (cause) {
      abortSignal?.throwIfAborted();
      return { error: unreachable(this.#base, timeoutMs, cause), isPassing: true } satisfies Outcome;
    } finally {
      clearTimeout(timer);
      abortSignal?.removeEventListener("abort", giveUp);
    }
  }

  #headersOf({ body }: RequestInit, { headers, isPublic = false }: RequestOptions): Record<string, string> {
    return {
      ...this.#headers,
      ...headers,
      accept: `${valueType}, ${problemType};q=0.5`,
      ...(body !== undefined && { "content-type": valueType }),
      ...(this.#apiKey !== undefined && !isPublic && { authorization: `Bearer ${this.#apiKey}` }),
    };
  }
}

/** A path of names, each in a segment of its own. @throws LayoverError `invalid_name` */
export function pathOf(...names: readonly string[]): string {
  return names.map((name) => `/${segmentOf(name)}`).join("");
}

function segmentOf(name: string): string {
  const checked = checkName(name, "a name in the path");
  // URLs are normalized on their way, "." and ".." even where they are escaped.
  if (checked !== "." && checked !== "..") return encodeURIComponent(checked);
  throw new LayoverError("invalid_name", `the name "${checked}" cannot be part of a URL`, {
    hint: "Name it by our id, or call in process.",
  });
}

function searchOf(query: NonNullable<RequestOptions["query"]>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value ?? []].flat()) search.append(name, String(item));
  }
  return search.size === 0 ? "" : `?${search}`;
}

function baseOf(url: string | URL): string {
  const text = String(url);
  // Only browsers have a place of their own, which `/layover` is relative to.
  const place = globalThis.location?.href;
  const base = URL.canParse(text, place) ? new URL(text, place) : undefined;
  const isPlain = base !== undefined && `${base.username}${base.password}${base.search}${base.hash}` === "";
  if (isPlain && /^https?:$/.test(base.protocol)) return base.href.replace(/\/+$/, "");
  throw new LayoverError("invalid_request", "the url is not one that an API can have", {
    hint: "Write it as `https://example.com/layover`: with its scheme, without user, query and fragment.",
    details: { field: "url" },
  });
}

/** Never with the key in the message. */
function checkApiKey(apiKey: string): string {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new LayoverError("invalid_request", "the API key is empty, or has a character that no key has", {
    hint: "Give it as it was shown, without spaces and line ends.",
    details: { field: "apiKey" },
  });
}

function unreachable(base: string, timeoutMs: number, cause: unknown): LayoverError {
  const why =
    cause instanceof Error && cause.name === "TimeoutError" ? `after ${formatDuration(timeoutMs)}` : whyOf(cause);
  return new LayoverError("unreachable", `the API at ${base} did not answer: ${why}`, {
    hint: "Look at the url and the network. What was sent may have taken effect; with the same ids nothing happens twice.",
    cause,
  });
}

/** Node says "fetch failed", and why in the cause of that. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code: unknown = typeof cause === "object" && cause !== null ? Reflect.get(cause, "code") : undefined;
  if (typeof code === "string") return code;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
