/** What the invocations and ticks of one engine share. */
import type { Bodies } from "./bodies.ts";
import type { Report, Tell } from "./events.ts";
import type { Gate } from "./gate.ts";
import type { KeptFinishes } from "./kept-finishes.ts";
import type { Lease } from "./leases.ts";
import type { EngineOptions } from "./options.ts";
import type { Registry } from "./registry.ts";
import type { Room } from "./room.ts";
import type { Warm } from "./warm.ts";

export interface Crew {
  readonly options: EngineOptions;
  readonly tell: Tell;
  readonly report: Report;
  readonly registry: Registry;
  readonly warm: Warm;
  readonly bodies: Bodies;
  readonly gate: Gate;
  readonly room: Room;
  readonly kept: KeptFinishes;
  /** The leases of the turns under way. */
  readonly leases: Set<Lease>;
  /** Whether no further step is begun. */
  isClosing: boolean;
}
