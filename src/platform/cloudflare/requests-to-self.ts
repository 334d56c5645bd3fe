/** Signed requests by which a Worker without a queue asks itself to carry out turns. */

import { mediaType, problemType } from "../../client/over-http/media-type.ts";
import { LayoverError } from "../../core/errors.ts";
import type { TurnRef } from "../../core/ports.ts";
import { mostTurnsBytes, turnsPath, turnsRequest } from "../../http/internal.ts";
import type { Isolate } from "./isolate.ts";
import type { Fetcher } from "./options.ts";
import { SelfDispatch, type SelfDispatchOptions } from "./self-dispatch.ts";

/**
 * The longest chain of requests to oneself. Cloudflare stops a chain at a depth of 16 by the public URL (error 1019), and
 * after 32 requests in all by a service binding, side chains included. What is left then is carried out by the next tick,
 * which begins a new chain. If side chains come to 32 requests sooner, the refusal is reported, and the next tick goes on.
 */
const mostHops = 12;

/**
 * The most requests that one invocation sends. The Free plan allows 50 subrequests, and with `neon` each statement is
 * one. So some are left for statements: 10 of a tick that finds as much as it may dispatch, some 15 of a request with
 * ten turns.
 */
const mostRequests = 30;

/** The most that one tick dispatches: 67 turns in each request. A third of the requests at most carry a group by itself. */
export const mostOfTick = { turns: 2_000, groups: 10 };

/**
 * The most requests under way at a time. A request may have six connections open, those of the service bindings that it
 * calls included.
 */
const mostOpen = 4;

export interface RequestsOptions extends Pick<SelfDispatchOptions, "host" | "until" | "keepAlive" | "onError"> {
  readonly isolate: Isolate;
  readonly namespace: string;
  /** The service binding to this Worker. Default: the requests go to the public URL. */
  readonly self?: Fetcher | undefined;
  readonly batch?: number | undefined;
  /** How many requests to oneself led here. */
  readonly hops?: number | undefined;
  /** Is called with turns that the platform has refused or may have lost. */
  readonly onRefused: (turns: readonly TurnRef[]) => void;
}

export function requestsToSelf(options: RequestsOptions): SelfDispatch {
  const { isolate, namespace, self = globalThis, batch = 10, hops = 0, host, until, onRefused } = options;
  const { secrets, publicUrl } = isolate;
  return new SelfDispatch({
    ...options,
    send: async (turns, goesOn) => {
      const message = { turns, hops: goesOn ? hops + 1 : mostHops, until: until() };
      const request = turnsRequest(message, { secrets, namespace, nowMs: host.now() });
      let isTold = false;
      try {
        // A redirect would make a GET of it.
        const response = await self.fetch(`${publicUrl}${turnsPath}`, { ...request, redirect: "manual" });
        // The Worker knows of the turns if the answer is a problem document of its own, or says that the request is wrong.
        // To send them again in a minute would not help.
        const { status, headers } = response;
        isTold = (status < 500 && status !== 429) || mediaType(headers) === problemType;
        await response.body?.cancel(); // an answer that nobody reads keeps its connection
        if (!response.ok) throw refused(response.status);
      } finally {
        if (!isTold) onRefused(turns);
      }
    },
    batch,
    mostBytes: mostTurnsBytes,
    mostRequests: hops < mostHops ? mostRequests : 0,
    concurrency: mostOpen,
  });
}

function refused(status: number): LayoverError {
  const cause =
    status === 503
      ? "It came too late, or could not claim the turns, which was reported by itself."
      : "Look at `publicUrl` and `prefix`, and whether something in front of the Worker answers instead.";
  return new LayoverError("internal", `the Worker's own request to ${turnsPath} was answered ${status}`, {
    hint: `${cause} The next tick goes on with the runs.`,
    details: { status },
  });
}
