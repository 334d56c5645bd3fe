/** Wishes of those who carry turns out from the claim to the finish: one turn, all at once, or one whose process dies. */
import { claimable } from "./claims.ts";
import { makeClaim, usualClaim, usualClaims } from "./make-claims.ts";
import { send, toFinish } from "./make-finishes.ts";
import { standingOf } from "./make-leases.ts";
import { pick, type Script } from "./script.ts";
import type { CrashWish } from "./turn-wishes.ts";
import type { StartWish } from "./visit-wishes.ts";
import type { BatchWish, TurnWish, Wish } from "./wishes.ts";
import type { Holder } from "./world.ts";

const aStart: Omit<StartWish, "run"> = {
  kind: "start",
  userId: undefined,
  input: "x",
  isCarried: true,
  delayMs: 0,
  timeoutMs: undefined,
  signal: undefined,
  isAhead: false,
  isElsewhere: false,
  isBare: false,
  isLate: false,
};

/** A claim and its finish, and what happens between them. */
export function makeTurn(
  script: Script,
  { index, meanwhile, finish: item }: TurnWish,
  make: (wish: Wish) => void,
): void {
  const holder = claimAsUsual(script, index);
  if (holder === undefined) return;
  for (const wish of meanwhile) make(wish);
  send(script, toFinish(script.world, holder, item), false, false);
}

export function makeBatch(
  script: Script,
  { starts, budgetBytes, meanwhile, finishes }: BatchWish,
  make: (wish: Wish) => void,
): void {
  if (starts) for (const run of script.world.ids.keys()) make({ ...aStart, run });
  const items = claimable(script.world).map((_, index) => ({ ...usualClaim, index }));
  if (items.length > 0) makeClaim(script, { ...usualClaims, budgetBytes, items });
  for (const wish of meanwhile) make(wish);
  const { world } = script; // by now: what came too late took the last one back
  const made = standingOf(world).flatMap((holder, index) => {
    const item = pick(finishes, index);
    return item === undefined ? [] : toFinish(world, holder, item);
  });
  send(script, made, false, false);
}

/** Claims what may be claimed; the lease runs out; and again. */
export function makeCrash(script: Script, { index, times }: CrashWish): void {
  const { world } = script;
  const wanted = pick(claimable(world), index);
  for (let time = 0; wanted !== undefined && time < times; time += 1) {
    const isSame = ({ run, row }: typeof wanted) => run === wanted.run && row === wanted.row;
    const place = claimable(world).findIndex(isSame);
    if (place < 0) return;
    claimAsUsual(script, place);
    const { lease } = wanted.row ?? wanted.run;
    world.now = Math.max(world.now, lease?.until ?? 0);
  }
}

/** Answers who holds the lease then. */
function claimAsUsual(script: Script, index: number): Holder | undefined {
  const wanted = pick(claimable(script.world), index);
  if (wanted === undefined) return undefined;
  makeClaim(script, { ...usualClaims, items: [{ ...usualClaim, index }] });
  const holder = standingOf(script.world).at(-1);
  return holder?.runId === wanted.run.id ? holder : undefined;
}
