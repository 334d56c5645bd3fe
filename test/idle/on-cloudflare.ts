/** Runs that wait on Cloudflare: a Worker on workerd, bound as wrangler.toml says, and a Postgres behind Neon's endpoint. */
import { Deployment } from "../demo/deployment.ts";
import type { Reached } from "../demo/observing.ts";
import { workerWithNode } from "../platform/wrangler-bundle.ts";
import type { Site, SiteOptions } from "./site.ts";

export async function openCloudflare({ folder, settings }: SiteOptions): Promise<Site> {
  const reached: Record<Reached, number> = { cron: 0, queue: 0, dead: 0, object: 0, alarm: 0 };
  const deployment = await Deployment.prepare({
    script: workerWithNode("test/idle/worker.ts"),
    folder,
    settings,
    onReached: (what) => {
      reached[what] += 1;
    },
  });
  await deployment.begin();
  return {
    databaseUrl: deployment.databaseUrl,
    async start(workflow, input) {
      const { status, body } = await deployment.api("POST", `/v1/workflows/${workflow}/runs`, { input });
      if (status !== 201) throw new Error(`a start was answered ${status}: ${JSON.stringify(body)}`);
    },
    untilAwake: async (withinMs) => void (await deployment.untilSaid(/awake/, withinMs)),
    get counts() {
      const { cron, object, alarm, queue, dead } = reached;
      return {
        "cron rang": cron,
        "object asked": object,
        "alarm rang": alarm,
        deliveries: queue + dead,
        "Neon asked": deployment.statements,
      };
    },
    ring: async () => await deployment.ring(),
    end: async () => await deployment.end(),
  };
}
