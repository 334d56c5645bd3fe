/** Plans what goes wrong, one disaster after the other. The same seed makes the same plan. */
import type { Chance } from "../engine/chance.ts";
import { type Cut, cuts } from "./cutter.ts";

export type Disaster =
  | { readonly kind: "kill"; readonly berth: number; readonly backInMs: number }
  /** One process stands still until its leases end. Another one is begun anew and takes its turns over. */
  | { readonly kind: "freeze"; readonly berth: number; readonly forMs: number; readonly overtaker: number }
  /** Postgres is gone for a while. */
  | { readonly kind: "outage"; readonly backInMs: number }
  | { readonly kind: "cut"; readonly cut: Cut; readonly at: RegExp };

export interface Planned {
  /** Milliseconds after the disaster before it. */
  readonly inMs: number;
  readonly disaster: Disaster;
}

/** Kinds of disasters. One that is listed more often happens more often. */
const kinds = [
  ...["cut", "cut", "cut", "cut", "cut", "cut", "cut", "cut"],
  ...["kill", "kill", "kill", "freeze", "freeze", "outage", "outage"],
] as const;
const victims = [
  ...[/layover\.finish_turns/, /layover\.finish_turns/, /layover\.finish_turns/, /layover\.claim_turns/],
  ...[/layover\.send_signal/, /layover\.answer_callback/, /layover\.start_run/, /layover\.renew_leases/],
  ...[/layover\.list_due/, /layover\.move_due/],
];

/** Yields disasters without end. */
export function* plan(chance: Chance, { berths, leaseMs }: { berths: number; leaseMs: number }): Generator<Planned> {
  for (;;) {
    yield { inMs: 50 + chance.below(400), disaster: disasterBy(chance, berths, leaseMs) };
  }
}

function disasterBy(chance: Chance, berths: number, leaseMs: number): Disaster {
  const kind = chance.pick(kinds);
  switch (kind) {
    case "kill":
      return { kind, berth: chance.below(berths), backInMs: chance.below(900) };
    case "freeze":
      return freezeBy(chance, berths, leaseMs);
    case "outage":
      return { kind, backInMs: chance.below(2_000) };
    default:
      return { kind: "cut", cut: chance.pick(cuts), at: chance.pick(victims) };
  }
}

function freezeBy(chance: Chance, berths: number, leaseMs: number): Disaster {
  const berth = chance.below(berths);
  const overtaker = (berth + 1 + chance.below(berths - 1)) % berths;
  return { kind: "freeze", berth, forMs: leaseMs + 1_000 + chance.below(leaseMs), overtaker };
}
