/**
 * Checks what the servers of these tests answer against the OpenAPI document: whatever is asked by `fetch`, by a test, by
 * a helper or by a client. The document is that of no contract, since it fits every deployment.
 */
import { unservedDocument } from "../../src/http/openapi/unserved.ts";
import { replayCheckRoutes } from "../../src/http/replay-check/routes.ts";
import type { Route } from "../../src/http/route.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { deliveryRoutes } from "../../src/http/webhooks/deliveries.ts";
import { CheckedDocument } from "../http/openapi/described.ts";

/** Where the path of a route begins, whatever the prefix. */
const ours = /\/(?:v1\/|callbacks\/|webhooks\/|health$|openapi\.json$)/;

export function checkWhatIsFetched(): void {
  const { fetch } = globalThis;
  let document: CheckedDocument | undefined;
  globalThis.fetch = async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const { hostname, pathname } = new URL(request?.url ?? String(input));
    const response = await fetch(input, init);
    const begins = ours.exec(pathname)?.index;
    const isLocal = hostname === "127.0.0.1" || hostname === "localhost";
    if (begins === undefined || !isLocal) return response;
    document ??= new CheckedDocument(theDocument());
    const asked = new Request(request?.url ?? String(input), { method: init?.method ?? request?.method ?? "GET" });
    await document.check({
      request: asked,
      body: undefined,
      response: response.clone(),
      prefix: pathname.slice(0, begins),
      sendsAnything: false,
    });
    return response;
  };
}

function theDocument() {
  const secrets = new Secrets(["bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g"]);
  const never = () => Promise.reject(new Error("only the description of this route is used"));
  const receive: Route = { method: "POST", path: "/webhooks/:name", answer: never };
  const judging = replayCheckRoutes({ workflows: [], deployment: { name: "node", id: "b1" } });
  const terms = { secrets, namespace: "test", maxBytes: 0, tell: () => {} };
  return unservedDocument({ contracts: [], webhooks: [receive, ...deliveryRoutes(new Map(), terms), ...judging] });
}
