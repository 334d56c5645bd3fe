import { expect, test } from "vitest";
import { Secrets } from "../../src/http/secrets.ts";
import { serve as serveWorker } from "../../src/platform/cloudflare/index.ts";
import { startInProcess } from "../../src/platform/node/in-process/in-process.ts";
import { serve } from "../../src/platform/node/index.ts";
import { aClient } from "../client/a-client.ts";
import { aDescribedApp } from "../http/openapi/described.ts";
import { testDatabase } from "../postgres/database.ts";

const database = testDatabase();
const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";

/** What is signed has the namespace in a line of its own. */
test.each<[string, (namespace: string) => unknown]>([
  [
    "a Worker",
    (namespace) =>
      serveWorker({
        workflows: [],
        namespace,
        database: () => database.query,
        publicUrl: () => "",
        secrets: () => [secret],
      }),
  ],
  [
    "a server of Node's",
    (namespace) => serve({ workflows: [], namespace, database: database.query, secrets: [secret], port: 0 }),
  ],
  ["a process", (namespace) => startInProcess({ workflows: [], namespace, database: database.query })],
  [
    "an app",
    (namespace) =>
      aDescribedApp({
        namespace,
        client: aClient(database.query).client,
        contracts: [],
        secrets: new Secrets([secret]),
        onError: () => {},
      }),
  ],
])("%s refuses a namespace that is no plain identifier", async (_, begin) => {
  const begun = async () => await begin("shop\n1767268800");
  await expect(begun()).rejects.toMatchObject({ code: "invalid_name" });
});
