/** Wishes of those who hold leases: renewed, begun, read on with, given back. */
import type { ClaimTurn, ReturnTurn } from "../../src/postgres/wire.ts";
import { readPage } from "./budgets.ts";
import { nameOf } from "./facts.ts";
import { wrong } from "./make-visits.ts";
import { findRow, findRun } from "./rules.ts";
import { giveBack, renew } from "./scheduler.ts";
import { inLockOrder, pick, type Script } from "./script.ts";
import { leaseMs } from "./settings.ts";
import type { HolderItem, PageWish, RenewWish, ReturnWish } from "./wishes.ts";
import type { Holder, World } from "./world.ts";

export function makeReturn(script: Script, { items, isElsewhere, isLate }: ReturnWish): void {
  const holders = items.flatMap((item) => holderOf(script.world, item) ?? []);
  const [first] = holders;
  if (first === undefined) return;
  const namespace = script.namespace(isElsewhere, first.namespace);
  const turns = holders.map(leaseOf);
  const told = holders.map((holder) => describeHolder(script, holder));
  script.call(
    "return_leases",
    { namespace, turns },
    `give back${wrong(isElsewhere)}: ${told.join("; ")}`,
    isLate,
    (now) => ({
      answer: { now: now.now, turns: inLockOrder(turns, (turn) => giveBack(now, namespace, turn)) },
      hasEffect: true,
    }),
  );
}

export function makePage(script: Script, wish: PageWish): void {
  const { world } = script;
  const holder = holderOf(world, wish);
  if (holder === undefined) return;
  const { budgetBytes, isElsewhere, isOtherEpoch } = wish;
  const namespace = script.namespace(isElsewhere, holder.namespace);
  const through = findRun(world, holder.runId, holder.namespace)?.history.length ?? 0;
  const after = Math.floor((through * wish.after) / 9);
  const p = { ...leaseOf(holder), epoch: isOtherEpoch ? 1 : 0, after, through, budgetBytes };
  const words = `read on${wrong(isElsewhere)} within ${budgetBytes} bytes, after ${after}: ${describeHolder(script, holder)}`;
  script.add("read_page", { ...p, namespace }, words, readPage(world, namespace, p));
}

function holderOf(world: World, { of, index }: HolderItem): Holder | undefined {
  const isReplaced = (holder: Holder) => ![undefined, holder.token].includes(standingToken(world, holder));
  const chosen = { standing: standingOf(world), any: world.holders, replaced: world.holders.filter(isReplaced) };
  return pick(chosen[of], index);
}

function leaseOf(holder: Holder): ReturnTurn {
  const { runId, token } = holder;
  return { runId, token, ...(holder.of === "branch" && { path: holder.path, occurrence: holder.occurrence }) };
}

export function makeRenewal(script: Script, { items, isElsewhere, isLate }: RenewWish): void {
  const renewed = items.flatMap(({ beginnings, begins, says, ...item }) => {
    const holder = holderOf(script.world, item);
    return holder === undefined ? [] : [{ holder, beginnings, begins, says }];
  });
  const [first] = renewed;
  if (first === undefined) return;
  const namespace = script.namespace(isElsewhere, first.holder.namespace);
  sendRenewals(script, renewed, { namespace, isElsewhere, isLate });
}

interface Renewed {
  readonly holder: Holder;
  /** It begins, as so many in a row that went alone. */
  readonly beginnings: number | undefined;
  /** The attempt that it is about to begin, of a step that runs at most once. */
  readonly begins?: string | undefined;
  /** What the run says of itself. */
  readonly says?: string | undefined;
}

function sendRenewals(
  script: Script,
  renewed: readonly Renewed[],
  { namespace, isElsewhere, isLate }: { namespace: string; isElsewhere: boolean; isLate: boolean },
): void {
  const turns = renewed.map(({ holder, beginnings, begins, says }) => ({
    ...leaseOf(holder),
    ...(beginnings !== undefined && { beginnings }),
    ...(begins !== undefined && { begins }),
    ...(says !== undefined && { says }),
  }));
  const told = renewed.map(({ holder, beginnings, begins }) => {
    const lone = beginnings === undefined ? "" : `, which begins as number ${beginnings}`;
    const attempt = begins === undefined ? "" : `, which begins attempt ${begins}`;
    return `${describeHolder(script, holder)}${lone}${attempt}`;
  });
  const words = `renew${wrong(isElsewhere)}: ${told.join("; ")}`;
  script.call("renew_leases", { namespace, leaseMs, turns }, words, isLate, (now) => ({
    answer: { now: now.now, turns: inLockOrder(turns, (turn) => renew(now, namespace, turn)) },
    hasEffect: true,
  }));
}

/** What was claimed alone just now is about to be carried out. */
export function begin(script: Script, asked: readonly ClaimTurn[], namespace: string): void {
  const { world } = script;
  const begun = standingOf(world).flatMap((holder) => {
    if (!asked.some(({ alone, token }) => alone && token === holder.token)) return [];
    const run = findRun(world, holder.runId, namespace);
    const row = run && holder.of === "branch" ? findRow(run, holder) : run;
    return row === undefined ? [] : [{ holder, beginnings: row.beginnings + 1 }];
  });
  if (begun.length > 0) sendRenewals(script, begun, { namespace, isElsewhere: false, isLate: false });
}

export function standingOf(world: World): Holder[] {
  return world.holders.filter((holder) => standingToken(world, holder) === holder.token);
}

/** Who has the lease now. */
function standingToken(world: World, holder: Holder): string | undefined {
  const run = findRun(world, holder.runId, holder.namespace);
  const place = holder.of === "run" || run === undefined ? run : findRow(run, holder);
  return place?.lease?.token;
}

export function describeHolder(script: Script, holder: Holder): string {
  const place = holder.of === "run" ? "" : ` ${nameOf(holder)}`;
  return `turn ${holder.turn} of ${script.letter(holder.runId)}${place} by ${holder.token.slice(-4)}`;
}
