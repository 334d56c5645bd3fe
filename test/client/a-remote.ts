/** A client over HTTP, and a server before its app that loses requests or spoils answers. */
import type { ApiOptions } from "../../src/client/over-http/api.ts";
import { HttpClient } from "../../src/client/over-http/http-client.ts";
import { aFaultyServer, type Fault } from "../http/a-faulty-server.ts";
import { aKey, anApp, order } from "../http/an-app.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { aHastyHost, sealCallback } from "./a-client.ts";

export const apiKey = aKey();

/** Answers a builder of an app on the database, a server before it that spoils its first answers, and a client of that. */
export function remotesOn(database: TestDatabase) {
  return async function aRemote(faults: readonly Fault[] = [], options: Partial<ApiOptions> = {}) {
    const test = anApp(database.query);
    const server = await aFaultyServer(test.app, faults);
    const host = aHastyHost();
    const client = new HttpClient({ url: server.url, apiKey, host, ...options });
    return { ...test, inProcess: test.client, server, host, client };
  };
}

export function tokenOf(runId: string): string {
  const place = { epoch: 0, path: "approval", occurrence: 0 };
  return sealCallback({ runId, ...place, workflow: "order", version: 1, name: "approval" }).token;
}

export async function aToken(client: ReturnType<typeof anApp>["client"]): Promise<string> {
  const { runId } = await client.start(order, { id: "1" });
  return tokenOf(runId);
}
