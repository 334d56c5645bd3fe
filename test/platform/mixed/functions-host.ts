/** The functions of a stack, in environments as Lambda makes them. */
import { onTestFinished } from "vitest";
import { AwsCloud } from "../../aws/cloud.ts";
import { type Synthesized, synthesize } from "../../aws/synth.ts";
import { secret } from "../a-worker.ts";
import { openDeadlyEndpoint } from "./deadly-endpoint.ts";
import { openFates } from "./fates.ts";
import type { Mortal, OneHost } from "./one-host.ts";

let synthesized: Synthesized | undefined;

/** Call it within a test. */
export async function beginFunctions(mortal: Mortal): Promise<OneHost> {
  const { databaseUrl, clock } = mortal;
  synthesized ??= synthesize("test/platform/mixed/functions.ts");
  const endpoint = await openDeadlyEndpoint(mortal);
  const fates = await openFates(mortal);
  const cloud = await AwsCloud.open({
    ...synthesized,
    parameters: { "/orders/secret": secret, "/orders/database-url": databaseUrl },
    variables: { FATES_URL: fates.url, FETCH_ENDPOINT: endpoint.fetchEndpoint, ...clock.variables },
    fateOf: () => {
      const fate = mortal.fateOf();
      if (fate !== "passes") mortal.die();
      return fate === "dies before" ? "lost" : "passes";
    },
    clock,
    concurrency: 5,
  });
  onTestFinished(async () => {
    await cloud.close();
    fates.close();
    await endpoint.close();
  });
  return {
    url: cloud.url,
    deployed: async () => cloud.deployed(),
    die() {
      for (const handler of ["http", "turns", "tick", "forward"]) cloud.kill(handler);
    },
    revive: async () => {}, // The next event begins a process.
    share: async (build) => cloud.share({ BUILD: build }),
    release: async (build) => cloud.update({ BUILD: build }),
    isAtWork: () => cloud.atWork > 0,
    output: () => cloud.output.join("\n"),
  };
}
