/** What the invocations and ticks of one engine share. */

import type { HostClock } from "../core/ports.ts";
import type { Carriers } from "./carriers.ts";
import type { Gate } from "./claim/gate.ts";
import type { HistoryBudget } from "./claim/history-budget.ts";
import type { Lease } from "./claim/lease.ts";
import type { LeaseReturns } from "./claim/lease-returns.ts";
import type { Report, Tell } from "./events.ts";
import type { KeptFinishes } from "./finish/kept-finishes.ts";
import type { EngineOptions } from "./options.ts";
import type { Registry } from "./registry.ts";
import type { WarmRuns } from "./replay/warm-runs.ts";
import type { Bodies } from "./turn/bodies.ts";

export interface EngineContext {
  readonly options: EngineOptions;
  readonly host: HostClock;
  readonly tell: Tell;
  readonly report: Report;
  readonly registry: Registry;
  readonly warm: WarmRuns;
  readonly bodies: Bodies;
  readonly gate: Gate;
  readonly historyBudget: HistoryBudget;
  readonly carriers: Carriers;
  readonly kept: KeptFinishes;
  /** The leases of the turns under way. */
  readonly leases: Set<Lease>;
  readonly returns: LeaseReturns;
  /** Whether no further step is begun. */
  isClosing: boolean;
}
