/** Deployments in this process, and the command `layover` that asks them. */
import { afterEach } from "vitest";
import type { Workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";

export const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

/** How often a test looks for the status of a run that it waits for. */
export const patience = { interval: 50 };

/** Serves workflows from a database of each test's own, and asks them by commands. Call it within a `describe`. */
export function aDeployment() {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;

  async function deploy(...workflows: readonly Workflow[]): Promise<NodeServer> {
    await server?.close();
    const onEvent = () => {};
    server = await serve({ workflows, database: database.query, secrets: [secret], port: 0, onEvent });
    return server;
  }

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const ask = (args: readonly string[], stdin?: string): Promise<Said> =>
    layover(args, {
      env: { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key },
      ...(stdin !== undefined && { stdin }),
    });

  const statusOf = async (runId: string) => (await server?.client.get(runId))?.status;

  return {
    deploy,
    ask,
    statusOf,
    get client(): NodeServer["client"] {
      if (server === undefined) throw new Error("nothing is deployed yet");
      return server.client;
    },
    close: async () => await server?.close(),
  };
}
