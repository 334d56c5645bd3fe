/** Requests of a Worker to itself: which turns nobody was told of, and so are to be dispatched again in a minute. */
import { expect, test } from "vitest";
import { LayoverError } from "../../src/core/errors.ts";
import { problem } from "../../src/http/problem.ts";
import { newIsolate } from "../../src/platform/cloudflare/isolate.ts";
import { requestsToSelf } from "../../src/platform/cloudflare/requests-to-self.ts";
import { workerd } from "../../src/platform/cloudflare/runtime.ts";
import { secret } from "./a-worker.ts";

const publicUrl = () => "https://here.example";
const isolate = newIsolate({ publicUrl, secrets: () => [secret], workflows: [] }, {}, workerd);
const unclaimed = new LayoverError("database_unavailable", "the turns could not be claimed", { hint: "Later." });

test.each<[string, readonly string[], () => Promise<Response>]>([
  ["a request that is answered well has told", [], async () => new Response(null, { status: 204 })],
  ["so has one of which the Worker says that it could not claim", [], async () => problem(unclaimed)],
  ["what something before the Worker refuses has not", ["a", "b"], async () => new Response("no", { status: 503 })],
  ["nor has one that is too much at once", ["a", "b"], async () => new Response("slower", { status: 429 })],
  ["but whoever finds it wrong would do so again in a minute", [], async () => new Response("no", { status: 403 })],
  ["or redirects it", [], async () => new Response(null, { status: 302, headers: { location: "/login" } })],
  ["nor has what was lost", ["a", "b"], () => Promise.reject(new Error("lost"))],
])("%s", async (_, expected, fetch) => {
  const refused: string[] = [];
  const errors: unknown[] = [];
  const dispatcher = requestsToSelf({
    isolate,
    namespace: "default",
    self: { fetch },
    until: () => Number.POSITIVE_INFINITY,
    onRefused: (turns) => refused.push(...turns.map(({ runId }) => runId)),
    onError: (error) => errors.push(error),
    host: workerd.host,
  });
  const turns = ["a", "b"].map((runId) => ({ runId, turn: 1 }));
  await dispatcher.dispatch(turns, 0);
  await dispatcher.settled();
  expect(refused).toEqual(expected);
  expect(dispatcher.isWhole).toBe(errors.length === 0);
});
