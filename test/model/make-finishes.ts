/** Wishes of those who finish turns. */
import type { FinishBranch, FinishRun } from "../../src/postgres/wire.ts";
import { carriedBy, deployments, versions } from "./deployments.ts";
import { finish } from "./finishes.ts";
import { describeHolder, standingOf } from "./make-leases.ts";
import { wrong } from "./make-visits.ts";
import { text } from "./match.ts";
import { hasCome, isEndingRefused, settleAnnouncement } from "./overtaken.ts";
import { planBranch, planRun } from "./plan.ts";
import { armedFor, findRow, findRun, isStill } from "./rules.ts";
import { inLockOrder, pick, type Script } from "./script.ts";
import { leaseMs, maxBeginnings, maxClaims } from "./settings.ts";
import type { FinishItem, FinishWish } from "./turn-wishes.ts";
import type { Holder, World } from "./world.ts";

export function makeFinish(script: Script, { items, isElsewhere, isLate }: FinishWish): void {
  const { world } = script;
  const standing = standingOf(world);
  const used = new Set<Holder>();
  const made = items.flatMap((item) => {
    const holder = pick(item.of === "standing" && standing.length > 0 ? standing : world.holders, item.index);
    if (holder === undefined || (used.has(holder) && !item.isRepeat)) return [];
    used.add(holder);
    return toFinish(world, holder, item);
  });
  send(script, made, isElsewhere, isLate);
}

interface Finish {
  readonly holder: Holder;
  readonly turn: Omit<FinishRun, "armed"> | Omit<FinishBranch, "armed">;
  readonly wakeInstants: readonly number[];
  readonly isSpoilt: boolean;
}

export function toFinish(world: World, holder: Holder, item: FinishItem): Finish[] {
  const run = findRun(world, holder.runId, holder.namespace);
  if (run === undefined) return [];
  const said = item.isRepeat ? world.sent.get(holder.token) : undefined;
  if (said !== undefined) return [{ holder, ...(JSON.parse(said) as Omit<Finish, "holder">) }];
  const made = holder.of === "run" ? planRun(world, run, holder, item) : planBranch(world, holder, item);
  return [{ holder, ...made, isSpoilt: item.isSpoilt && ("record" in made.turn || "records" in made.turn) }];
}

/** Whether a run goes on at once that is paused, or was so when it was finished, is nobody's concern: nobody asks for it. */
function withoutClaim(world: World, finish: Finish): Finish {
  const { holder, turn } = finish;
  const run = findRun(world, holder.runId, holder.namespace);
  if (run === undefined || !("claim" in turn)) return finish;
  const wasStill = run.lastFinish?.token === holder.token && run.lastFinish.answer["isReady"] === undefined;
  if (!isStill(run) && !wasStill) return finish;
  const { claim: _, ...rest } = turn;
  return { ...finish, turn: rest };
}

export function send(script: Script, wanted: readonly Finish[], isElsewhere: boolean, isLate: boolean): void {
  const { world } = script;
  const made = wanted.map((finish) => withoutClaim(world, finish));
  const [first] = made;
  if (first === undefined) return;
  for (const { holder, ...rest } of made) world.sent.set(holder.token, JSON.stringify(rest));
  const namespace = script.namespace(isElsewhere, first.holder.namespace);
  const terms = { namespace, environment: deployments.ours.endpoint, carries: carriedBy.all, turns: made.length };
  const armed = armedFor(
    world,
    made.flatMap((one) => one.wakeInstants),
  );
  const turns = made.map(({ turn, isSpoilt }) => ({ isSpoilt, turn: { ...turn, armed } }));
  const p = {
    namespace,
    ...deployments.ours,
    versions: versions.all,
    leaseMs,
    maxClaims,
    maxBeginnings,
    turns: turns.map(({ turn, isSpoilt }) => (isSpoilt ? spoil(turn) : turn)),
  };
  const words = `finish${wrong(isElsewhere)}: ${made.map((one) => describeFinish(script, one)).join("; ")}`;
  script.call("finish_turns", p, words, isLate, (now) => {
    let hasRaised = false;
    const answers = inLockOrder(
      turns.map((one) => ({ ...one.turn, ...one })),
      ({ turn, isSpoilt }) => {
        if (!isSpoilt || !mayRecord(now, namespace, turn)) return finish(now, terms, turn);
        hasRaised = true;
        return { outcome: "raised", sqlState: "23502" };
      },
    );
    const isAlone = turns.length === 1;
    return { answer: hasRaised && isAlone ? { sqlState: "23502" } : { now: now.now, turns: answers }, hasEffect: true };
  });
}

/** Takes a value away that must be there, so that the finish raises as soon as it is to be stored. */
function spoil(turn: FinishRun | FinishBranch): object {
  if ("record" in turn && turn.record !== undefined) return { ...turn, record: { ...turn.record, isFailure: null } };
  if ("records" in turn) return { ...turn, records: turn.records?.map((record) => ({ ...record, kind: null })) };
  return turn;
}

/** Whoever may not store any record does not raise. */
function mayRecord(world: World, namespace: string, turn: FinishRun | FinishBranch): boolean {
  const run = findRun(world, turn.runId, namespace);
  if (run === undefined) return false;
  if ("path" in turn) {
    return findRow(run, turn)?.lease?.token === turn.token && settleAnnouncement(run, turn) === turn; // which has another record
  }
  if (run.lease?.token !== turn.token || turn.position !== run.history.length || hasCome(run, turn)) return false;
  return !isEndingRefused(run, turn, world.now) || (turn.records?.length ?? 0) > 1;
}

function describeFinish(script: Script, { holder, turn, isSpoilt }: Finish): string {
  const { runId: _, token: __, ...rest } = turn;
  return `${describeHolder(script, holder)}${isSpoilt ? ", spoilt" : ""}: ${text(rest)}`;
}
