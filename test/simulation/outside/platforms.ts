/** The platforms that are played. */
import { Apart } from "./apart.ts";
import { Aws } from "./aws.ts";
import { BareCloudflare } from "./bare-cloudflare.ts";
import { Cloudflare } from "./cloudflare.ts";
import { Fetch } from "./fetch.ts";
import { InMemory } from "./in-memory.ts";
import { Mixed } from "./mixed.ts";
import type { Ground, Outside } from "./outside.ts";

/** Those that are drawn. */
export const platforms = ["cloudflare", "aws", "cron", "node", "embedded"] as const;
/** `fetch` and `mixed` are played on demand, so that seeds stay what they are. */
export const allPlatforms = [...platforms, "fetch", "mixed"] as const;
export type PlatformName = (typeof allPlatforms)[number];

export function outsideOf(platform: PlatformName, ground: Ground): Outside {
  switch (platform) {
    case "cloudflare":
      return new Cloudflare(ground);
    case "aws":
      return new Aws(ground);
    case "cron":
      return new BareCloudflare(ground);
    case "fetch":
      return new Fetch(ground);
    case "node":
      return new Apart(ground, (own, elsewhere) => new InMemory(own, elsewhere));
    case "mixed":
      return new Mixed(ground);
    case "embedded":
      return new InMemory(ground);
  }
}
