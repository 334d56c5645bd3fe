/** Wishes of the scheduler and of whoever runs the system; time itself. */
import { motionMinute } from "../../src/core/waking.ts";
import { carriedBy, versions } from "./deployments.ts";
import { inAnyOrder, text } from "./match.ts";
import { note } from "./refusals.ts";
import { arm, earliest } from "./rules.ts";
import { list, move, movesFor, nextDueAt, prune, voidLeases } from "./scheduler.ts";
import type { Script } from "./script.ts";
import { day } from "./settings.ts";
import type { AdvanceWish, ListWish, MoveWish, NoteWish, TickWish, Wish } from "./wishes.ts";
import type { Listing } from "./world.ts";

const keepMs = 30 * day;
const keepFailedMs = 90 * day;

export function makeList(script: Script, wish: ListWish): void {
  const { world } = script;
  const page = wish.isNextPage ? world.listing : undefined;
  const last = page?.runs.at(-1);
  const namespace = page?.namespace ?? script.namespace(wish.isElsewhere);
  const isNew = page?.isNew ?? wish.isNew;
  const limit = page?.limit ?? wish.limit;
  const withinMs = page?.withinMs ?? wish.withinMs;
  const readyWithinMs = page?.readyWithinMs ?? wish.readyWithinMs;
  const after = last === undefined ? undefined : { dueAt: last.dueAt, runId: last.runId };
  const listing = list(world, {
    namespace,
    isNew,
    withinMs,
    readyWithinMs,
    limit,
    carries: carriedBy[wish.carries],
    by: wish.by,
    after,
  });
  world.listing = listing;
  const words = `list what is due${isNew ? " to a new deployment" : ""}${wish.carries === "all" ? "" : " carrying some"}${
    after === undefined ? "" : ", next page"
  }${wish.by === undefined ? "" : ` by ${wish.by}`}`;
  const p = {
    namespace,
    versions: versions[wish.carries],
    limit,
    isNew,
    withinMs,
    ...(readyWithinMs > 0 && { readyUntil: world.now + readyWithinMs }),
    ...(wish.by !== undefined && { deploymentName: "server", deployment: wish.by }),
    ...(after !== undefined && { after }),
  };
  script.add("list_due", p, words, {
    now: world.now,
    isOurs: true,
    isNew,
    runs: expectedRuns(listing),
    nextDueAt: nextDueAt(world, namespace),
  });
}

function expectedRuns({ runs }: Listing): unknown[] {
  return runs.map(({ branches, later, ...run }) => ({
    ...run,
    branches: branches.length === 0 ? null : inAnyOrder(branches),
    later: later.length === 0 ? null : inAnyOrder(later),
  }));
}

/** Moves what was listed last, however long ago. A tick whose next instant has passed would have ended long before. */
export function makeMove(script: Script, { by, isElsewhere, isLate }: MoveWish): void {
  const { world } = script;
  const { listing } = world;
  if (listing === undefined || listing.runs.length === 0) return;
  const namespace = script.namespace(isElsewhere, listing.namespace);
  const moves = movesFor(listing);
  if (moves.some(({ dueAt }) => dueAt !== null && dueAt <= world.now)) return;
  const soonAt = motionMinute(world.now);
  arm(
    world,
    moves.flatMap(({ dueAt }) => dueAt ?? []),
  );
  const seen = moves.map(({ runId, ...one }) => ({ run: script.letter(runId), ...one }));
  const send = (words: string, terms: object, isSecond: boolean): number => {
    let left = 0;
    const p = { namespace, moves, ...(by !== undefined && { deployment: by }), ...terms };
    script.call("move_due", p, words, isLate, (now) => {
      const answer = move(now, namespace, moves, { isSecond, by });
      ({ left } = answer);
      return { answer: { now: now.now, ...answer }, hasEffect: true };
    });
    return isLate ? 0 : left;
  };
  if (send(`move what was seen due${by === undefined ? "" : ` by ${by}`}: ${text(seen)}`, {}, false) === 0) return;
  arm(script.world, [soonAt]);
  send("move what was left", { soonAt }, true);
}

/** A tick is a look and a move, between which others do what they do. */
export function stagesOf({ isAlarmed, by, isElsewhere, meanwhile }: TickWish): readonly Wish[] {
  const all = { isNew: false, withinMs: 0, readyWithinMs: 0, carries: "all", limit: 100, isNextPage: false } as const;
  return [
    ...(isAlarmed ? [{ kind: "alarm" } as const] : []),
    { kind: "list", by, isElsewhere, ...all },
    ...meanwhile,
    { kind: "move", by, isElsewhere: false, isLate: false },
  ];
}

export function makeNote(script: Script, { by, name, note: what, carries, isElsewhere, isLate }: NoteWish): void {
  const namespace = script.namespace(isElsewhere);
  const p = { namespace, deploymentName: name, deployment: by, note: what, versions: versions[carries] };
  script.call("note_deployment", p, `note ${name} ${by} ${what} carrying ${carries}`, isLate, (world) => {
    note(world, { ...p, versions: versions[carries].order });
    return { answer: { outcome: "noted" }, hasEffect: true };
  });
}

export function makeVoid(script: Script, isElsewhere: boolean): void {
  const namespace = script.namespace(isElsewhere);
  voidLeases(script.world, namespace);
  script.add("void_leases", { namespace }, "void all leases", { outcome: "voided" });
}

export function makePrune(script: Script, isElsewhere: boolean): void {
  const namespace = script.namespace(isElsewhere);
  const pruned = prune(script.world, namespace, keepMs, keepFailedMs);
  script.add("prune_runs", { namespace, keepMs, keepFailedMs, limit: 100 }, "prune", { pruned, isMore: false });
}

export function makeAlarm({ world }: Script): void {
  world.now = Math.max(world.now, earliest(...world.runs.map(({ dueAt }) => dueAt)) ?? 0);
}

export function makeAdvance({ world }: Script, { ms, offset }: AdvanceWish): void {
  const instants = world.runs.flatMap((run) => [
    ...[run.lease?.until, run.readyAt, run.dueAt, run.timeoutAt],
    ...run.rows.flatMap(({ lease, readyAt, until }) => [lease?.until, readyAt, until]),
  ]);
  const next = earliest(...instants.filter((at) => at !== undefined && at + offset > world.now));
  world.now = ms !== undefined || next === undefined ? world.now + (ms ?? 1) : next + offset;
}
