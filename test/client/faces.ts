/** The client in process, and the client over HTTP before the same one: what the verbs do must not differ. */
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import type { ClientVerbs } from "../../src/client/verbs.ts";
import type { Contract } from "../../src/core/contract/contract.ts";
import type { Query } from "../../src/core/ports.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { aDescribedApp } from "../http/openapi/described.ts";
import { aClient, namespace, secrets, type TestClient, type TestClientOptions } from "./a-client.ts";

interface Face {
  readonly face: string;
  open(query: Query, contracts: readonly Contract[], options?: TestClientOptions): FacedClient;
}

/** What it tells is what the client in process did. */
export interface FacedClient extends Omit<TestClient, "client"> {
  readonly client: ClientVerbs;
}

export const faces: readonly Face[] = [
  { face: "in process", open: (query, _contracts, options) => aClient(query, options) },
  {
    face: "over HTTP",
    open: (query, contracts, options = {}) => {
      const test = aClient(query, options);
      const app = aDescribedApp(
        { client: test.client, contracts, secrets, namespace, onError: () => {} },
        { prefix: "/layover" },
      );
      const apiKey = createApiKey(secrets, { name: "test", namespace, scopes });
      const fetch = async (url: string, init: RequestInit) => await app.request(url, init);
      return { ...test, client: new HttpClient({ url: "https://test/layover/", apiKey, fetch, host: options.host }) };
    },
  },
];
