/** A Worker on the real workerd, with a queue and a Durable Object. */
import { onTestFinished } from "vitest";
import { AWorker, bundled } from "../a-worker.ts";
import { openDeadlyEndpoint } from "./deadly-endpoint.ts";
import { openFates } from "./fates.ts";
import type { Mortal, OneHost } from "./one-host.ts";
import type { Build } from "./workflows.ts";

/** Call it within a test. */
export async function beginWorker(mortal: Mortal): Promise<OneHost> {
  const { databaseUrl, clock } = mortal;
  const endpoint = await openDeadlyEndpoint(mortal);
  const fates = await openFates(mortal);
  onTestFinished(async () => {
    fates.close();
    await endpoint.close();
  });
  const reached = { fatesUrl: fates.url, fetchEndpoint: endpoint.fetchEndpoint };
  const scriptOf = async (build: Build) => await bundled("test/platform/mixed/worker.ts", { build, ...reached });
  const begin = async (build: Build) =>
    await AWorker.begin({
      script: await scriptOf(build),
      env: { DATABASE_URL: databaseUrl },
      bound: { queue: {}, alarm: {} },
      self: null,
    });
  const worker = await begin("first");
  /** Another one with alarms of its own. A release puts the build that it brings into both, so that no alarm is lost. */
  let canary: AWorker | undefined;
  let requests = 0;
  let isDead = false;
  const turn = async () => {
    if (!isDead) await worker.turn(clock.aheadMs);
    await canary?.turn(clock.aheadMs);
  };
  clock.follow(turn);
  return {
    get url() {
      requests += 1;
      return canary === undefined || requests % 2 === 0 ? worker.url : canary.url;
    },
    deployed: async () => void (await worker.ring()),
    die() {
      isDead = true;
      worker.kill();
    },
    async revive() {
      await worker.restart();
      isDead = false;
      await turn();
    },
    async share(build) {
      canary = await begin(build);
      await turn();
      await canary.ring(); // it notes itself by its first tick
    },
    async release(build) {
      for (const each of canary === undefined ? [worker] : [worker, canary]) {
        await fetch(`${each.url}/drain`, { method: "POST" });
        await each.replace(await scriptOf(build));
        await turn();
      }
    },
    isAtWork: () => false,
    output: () => [...worker.logged, ...(canary?.logged ?? [])].join("\n"),
  };
}
