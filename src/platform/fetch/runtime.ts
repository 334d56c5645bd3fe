/** What the function takes from where it runs. A test plays another one. */
import type { WallClock } from "../../core/ports.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { Variables } from "../../http/webhooks/verifier.ts";

export interface Runtime {
  readonly host: WallClock;
  /** Sends requests to the alarm, and to other deployments. */
  readonly send: typeof fetch;
  /** The variables of the process. */
  readonly env: Variables;
  readonly engine: Pick<EngineOptions, "atRest" | "newToken" | "random">;
}
