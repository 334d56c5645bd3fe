/** What a finish means: a turn's records, demands and end, if its lease stands and it saw the whole history. */
import type { FinishBranch, FinishRun } from "../../src/postgres/wire.ts";
import { finishBranch } from "./branch-finishes.ts";
import type { ClaimTerms } from "./claim-terms.ts";
import { claim } from "./claims.ts";
import {
  beginClosing,
  carriesOut,
  close,
  end,
  hasGotNowhere,
  holdUp,
  keepDropped,
  lastSaying,
  park,
  record,
  recordAttempt,
  recordDemands,
  release,
} from "./finish-effects.ts";
import { anyOf, inAnyOrder } from "./match.ts";
import { endsSurely, hasCome, isEnd, isPastTimeout, superseded, withoutEnding } from "./overtaken.ts";
import { refuse } from "./refusals.ts";
import { findRun, isLive, isReady, isStill, releaseAll, setBack, spare } from "./rules.ts";
import { type Answer, noLosses, type Row, type Run } from "./run.ts";
import type { World } from "./world.ts";

export function finish(world: World, terms: ClaimTerms, turn: FinishRun | FinishBranch): Answer {
  if ("path" in turn) return finishBranch(world, terms.namespace, turn);
  const answer = finishRun(world, terms.namespace, turn);
  const run = findRun(world, turn.runId, terms.namespace);
  if (turn.claim === undefined || answer["outcome"] !== "finished" || answer["isReady"] !== true) return answer;
  // Its process knows a record of the ending that was not kept.
  if (turn.ending !== undefined && run?.ending === undefined) return answer;
  if (run !== undefined && isStill(run)) return { outcome: "finished", turn: answer["turn"] };
  const claimed = claim(world, terms, turn.claim);
  // The holder goes on, so it knows what it has begun: the database may leave that out.
  const told = Object.fromEntries(Object.entries(Object(claimed)).filter(([key]) => key !== "begun"));
  return { outcome: "finished", turn: answer["turn"], claim: told };
}

function finishRun(world: World, namespace: string, f: FinishRun): Answer {
  const { now } = world;
  const run = findRun(world, f.runId, namespace);
  if (run === undefined) return { outcome: "unknown" };
  if (run.lastFinish?.token === f.token) {
    const { answer } = run.lastFinish;
    // Only a crash loop and an upgrade move a turn that nobody finished.
    return { ...answer, turn: anyOf(answer["turn"], run.turn) };
  }
  if (run.lease?.token !== f.token) {
    spare(run, f.token);
    return superseded;
  }

  const isSetBack = f.setback !== undefined && f.position === run.history.length && !hasCome(run, f);
  if (isSetBack && (f.records?.length ?? 0) > 0) run.setback = undefined; // it has got on so far
  const triedAgainAt = isSetBack ? setBack(run, run, now) : undefined;
  const isWhole = f.position === run.history.length && !hasCome(run, f);
  if (isWhole && f.ending !== undefined && run.rows.some(({ lease }) => isLive(lease, now)))
    return finishRun(world, namespace, { ...withoutEnding(f), closing: true });
  if (isWhole && (f.ending !== undefined || f.closing) && isPastTimeout(run, f))
    return finishRun(world, namespace, withoutEnding(f));
  const next = isWhole && isPastTimeout(run, f) ? "ready" : f.next;
  const closesLate = !isWhole && endsSurely(run, f);
  const through = isWhole ? f.position + (f.records?.length ?? 0) : f.position;
  run.status = "parked";
  run.turn += 1;
  run.lease = undefined;
  run.loneClaims = 0;
  run.beginnings = 0;
  run.losses = noLosses;
  run.handed = Math.max(run.handed, through);
  run.readyAt = now;
  run.isInterrupted &&= isWhole ? hasGotNowhere({ ...f, next }) : !carriesOut(f);
  run.says = lastSaying(f.says, isWhole ? Number.POSITIVE_INFINITY : f.position) ?? run.says;
  run.rows = run.rows.filter(({ position }) => position === undefined || position > f.position);
  if (isWhole) {
    record(run, f);
    run.closed.push(...(f.closes ?? []));
    recordAttempt(run, f, now);
  } else keepDropped(run, f);
  const isEnding = isWhole && isEnd(next);
  const isLeft = isEnding || (isWhole && f.ending !== undefined); // nothing of it is waited for any more
  const freed = isLeft ? [] : release(run, f, through, now);
  if (isWhole) close(run, f);
  if (closesLate) beginClosing(run, f);
  else if (!isWhole && run.isClosing) releaseAll(run, () => true);
  if (isEnding) end(run, f, now);
  const added = isEnding || (!isWhole && run.isClosing) ? [] : recordDemands(run, f, through, now);
  if (isWhole && f.next === "blocked") refuse(world, run, f.deployment);
  if (isWhole && f.next === "parked") park(run, now);
  if (isSetBack) holdUp(run, triedAgainAt, now);

  const answer = answerOf(run, { now, isWhole, next, branches: isEnding ? [] : [...freed.filter(isKept), ...added] });
  run.lastFinish = { token: f.token, answer };
  return answer;
}

function isKept({ isReleased }: Row): boolean {
  return !isReleased;
}

interface Finished {
  readonly now: number;
  readonly isWhole: boolean;
  readonly next: FinishRun["next"];
  /** The branches that the run waits for beside its next turn. */
  readonly branches: readonly Row[];
}

/** Answers a finish that took effect. */
function answerOf(run: Run, { now, isWhole, next, branches }: Finished): Answer {
  if (isWhole && next === "ready" && branches.length === 0)
    return { outcome: "finished", turn: run.turn, ...(!isStill(run) && { isReady: true }) };
  const places = branches.map(({ path, occurrence, turn }) => ({ path, occurrence, turn }));
  return {
    outcome: isWhole ? "finished" : "deferred",
    turn: run.turn,
    status: run.status,
    isReady: isReady(run, now) && !isStill(run),
    branches: places.length === 0 ? null : inAnyOrder(places),
    ...(isWhole && !isStill(run) && !isReady(run, now) && { readyAt: run.readyAt ?? null }),
  };
}
