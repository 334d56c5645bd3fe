/** The turns that a call says are about to begin, of those that were claimed alone. */
import type { RenewTurn } from "../../src/postgres/wire.ts";
import type { Waiting } from "./mortal.ts";

export function beginningsIn({ what, parameter }: Pick<Waiting, "what" | "parameter">): readonly RenewTurn[] {
  if (what !== "renew_leases" || parameter === undefined) return [];
  const { turns }: { turns: readonly RenewTurn[] } = JSON.parse(parameter);
  return turns.filter(({ beginnings }) => beginnings !== undefined);
}
