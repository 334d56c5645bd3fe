/**
 * Has a deployment say whether its code fits the runs under way, for `layover replay-check --at URL`.
 *
 *   import { replayCheck } from "layover/replay-check";
 *   serve({ workflows, replayCheck: replayCheck() });
 *
 * A deployment that does not mount it loads none of this.
 */
import type { MountReplayCheck } from "./mount.ts";
import { replayCheckRoutes } from "./routes.ts";

export type { MountReplayCheck };

/**
 * Mounts `GET` and `POST /v1/replay-check`, for API keys with the scopes `read` and `admin`. A Worker needs the compatibility
 * flag `nodejs_als` or `nodejs_compat` for it.
 *
 * @example serve({ workflows, replayCheck: replayCheck() });
 */
export function replayCheck(): MountReplayCheck {
  return replayCheckRoutes;
}
