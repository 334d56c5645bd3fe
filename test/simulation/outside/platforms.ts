/** The platforms that are played. */
import { Apart } from "./apart.ts";
import { Aws } from "./aws.ts";
import { BareCloudflare } from "./bare-cloudflare.ts";
import { Cloudflare } from "./cloudflare.ts";
import { InMemory } from "./in-memory.ts";
import type { Ground, Outside } from "./outside.ts";

export const platforms = ["cloudflare", "aws", "cron", "node", "embedded"] as const;
export type PlatformName = (typeof platforms)[number];

export function outsideOf(platform: PlatformName, ground: Ground): Outside {
  switch (platform) {
    case "cloudflare":
      return new Cloudflare(ground);
    case "aws":
      return new Aws(ground);
    case "cron":
      return new BareCloudflare(ground);
    case "node":
      return new Apart(ground, (own, elsewhere) => new InMemory(own, elsewhere));
    case "embedded":
      return new InMemory(ground);
  }
}
