/**
 * One pass of the scheduler. It never claims: it lists what is due, arms the next instants, moves the due instants on,
 * and only then dispatches. So at every moment each run is armed.
 */
import { groupSizeOf, groupsOf, isSuspect } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import { aboutToRingMs, longestBackoffMs, lookAheadMs, motionMinute } from "../../core/waking.ts";
import type { Calls } from "../../postgres/calls.ts";
import { hostClock } from "../../postgres/host-clock.ts";
import type { DueCall, Move } from "../../postgres/wire.ts";
import type { EngineContext } from "../engine-context.ts";
import { defaults } from "../options.ts";
import { wrongEnvironment } from "../wrong-environment.ts";
import { comingOf, isAhead, type Look, look, readyOf, type Wish } from "./due-runs.ts";
import { lookEvents } from "./look-events.ts";
import { prune } from "./prune.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface TickAnswer {
  /** False: the database belongs to another environment, so nothing was looked at. */
  readonly isOurs: boolean;
  readonly due: number;
  readonly dispatched: number;
  /** Whether this was the first tick of a deployment, and has looked at everything. */
  readonly isNew: boolean;
  /** The last blocked run that a first tick had room for, where it has not looked at everything. */
  readonly triedThrough?: string | undefined;
}

const pageSize = 500;

export interface TickOptions {
  /**
   * The first tick of a deployment, which looks at all that is ready or blocked, whenever it is due, and counts its
   * dispatches from the beginning. Default: where the database says so of the engine's `deployment`. Whoever ticks notes that
   * it has `looked` (`calls.noteDeployment`) when what this tick has dispatched was sent.
   */
  readonly isNew?: boolean;
  /** How many turns are dispatched, and how many groups of those that go in one. The rest stays due, uncounted. Default: no limit. */
  readonly most?: Room;
  /** Is told what is moved on before it is dispatched, for whoever learns later what the platform refused: {@link lookAgain}. */
  readonly onMoved?: (moves: readonly Move[]) => void;
  /** ... and nobody else uses the database: short waits were dispatched by a process that is dead, so they are armed. */
  readonly isExclusive?: boolean;
  /**
   * Also looks at what will be ready, or lose its lease, within three minutes, and dispatches it for then: whoever was to do
   * so may be dead, or have failed to reach the database. It moves nothing of that. Default: false.
   */
  readonly looksAhead?: boolean;
}

interface Room {
  readonly turns: number;
  readonly groups: number;
}

const unlimited: Room = { turns: Number.POSITIVE_INFINITY, groups: Number.POSITIVE_INFINITY };

/** Each call has to end within `limit`, which begins anew with each page. */
export async function tick(
  { options, registry, tell, report }: EngineContext,
  limit: TimeLimit,
  wishes: TickOptions = {},
): Promise<TickAnswer> {
  const { isExclusive = false, looksAhead = false, most = unlimited } = wishes;
  const { deployment, calls, dispatch } = options;
  const { keepMs = defaults.keepMs, keepFailedMs = defaults.keepFailedMs } = options;
  const { host = hostClock } = options;
  const { environment = defaults.environment } = options;
  const { versions } = registry;
  const named = deployment && { deploymentName: deployment.name, deployment: deployment.id };
  const say = async (note: "deployed" | "seen"): Promise<void> => {
    if (named === undefined) return;
    await limit.wait(() => calls.noteDeployment({ environment, ...named, note, versions, isExclusive }));
  };
  let after: { dueAt: number | null; runId: string } | undefined;
  let isNew = wishes.isNew ?? (deployment === undefined ? false : undefined);
  const takesOver = isNew === true && isExclusive;
  const room = { ...most };
  /** What was moved may come again, on a later page. */
  const seen = new Set<string>();
  let isComplete = true;
  let triedThrough: string | undefined;
  let due = 0;
  let dispatched = 0;
  const send = async (wishes: readonly Wish[]): Promise<void> => {
    const { ready, groups, later } = sort(wishes);
    for (const [refs, delayMs] of [[ready, 0], ...groups.map((group) => [group, 0] as const), ...later] as const) {
      if (refs.length === 0) continue;
      try {
        await limit.wait(() => dispatch(refs, delayMs));
        dispatched += refs.length;
      } catch (error) {
        report(error, "dispatching"); // the alarm stands
      }
    }
  };
  const locked: Look[] = [];
  /** Arms, moves on and dispatches. Answers what it left alone, since somebody has locked it. */
  const carry = async (
    looks: readonly Look[],
    terms: { readonly isNew: boolean; readonly soonAt: number; readonly skipsLocked?: true },
  ): Promise<readonly Look[]> => {
    if (looks.length === 0) return [];
    const { soonAt, ...rest } = terms;
    const how = { ...rest, ...(deployment !== undefined && { deployment: deployment.id }) };
    const moves = looks.map(({ move }) => move);
    wishes.onMoved?.(moves);
    const instants = moves.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt]));
    await limit.wait(() => calls.alarms.arm(instants));
    const { left, locked } = await limit.wait(() => calls.moveDue({ moves, ...how }));
    const isLocked = new Set(locked);
    const free = looks.filter(({ move }) => !isLocked.has(move.runId));
    if (left > 0) {
      const again = free.map(({ move }) => move);
      await limit.wait(() => calls.alarms.arm([soonAt]));
      await limit.wait(() => calls.moveDue({ moves: again, ...how, soonAt }));
    }
    await send(free.flatMap(({ refs }) => refs));
    return looks.filter(({ move }) => isLocked.has(move.runId));
  };
  // What it has refused before it is to be asked for again: this process may run other code under the same id.
  if (wishes.isNew === true && named !== undefined) await say("deployed");
  for (;;) {
    const withinMs = takesOver || looksAhead ? lookAheadMs : 0;
    const call: DueCall = {
      environment,
      versions,
      limit: pageSize,
      withinMs,
      ...(isNew !== undefined && { isNew }),
      ...named,
      ...(after !== undefined && { after }),
    };
    const page = await limit.wait(() => calls.listDue(call));
    if (!page.isOurs) {
      report(wrongEnvironment(environment), "looking for what is due");
      await limit.wait(() => calls.alarms.arm([page.now + longestBackoffMs])); // somebody may have adopted it by then
      return { isOurs: false, due: 0, dispatched: 0, isNew: false };
    }
    if (page.isUnnoted === true) await say("deployed");
    else if (page.isStale === true) await say("seen");
    isNew = page.isNew;
    calls.alarms.forgetWithin(aboutToRingMs);
    const { nextDueAt } = page;
    if (nextDueAt !== null) await limit.wait(() => calls.alarms.arm([nextDueAt]));
    const soonAt = motionMinute(page.now);
    // A call of the process that was here before may commit after this look, and its alarms are gone. By then it has.
    if (wishes.isNew === true && !isExclusive) await limit.wait(() => calls.alarms.arm([soonAt]));
    const earliest = takesOver || calls.alarms.isBeat ? page.now : soonAt;
    const looks: Look[] = [];
    const glances: Wish[] = [];
    for (const run of page.runs.filter(({ runId }) => !seen.has(runId))) {
      seen.add(run.runId);
      for (const event of lookEvents(run, page.now)) tell(event);
      const coming = looksAhead && !takesOver ? comingOf(run, page.now) : undefined;
      if (coming !== undefined && isAhead(run, page)) {
        glances.push(...readyOf(run), ...coming);
        continue;
      }
      const one = look(run, { now: page.now, earliest, isNew: page.isNew, coming });
      const isTaken = takeIn(room, one);
      if (isTaken) looks.push(one);
      isComplete &&= isTaken;
      if (isComplete && run.dueAt === null) triedThrough = run.runId;
    }
    locked.push(...(await carry(looks, { isNew, soonAt, skipsLocked: true })));
    await send(glances);
    limit.extend();
    due += page.runs.length;
    const last = page.runs.at(-1);
    if (last === undefined || page.runs.length < pageSize) break;
    if (room.turns <= 0) {
      isComplete = false;
      break;
    }
    after = { dueAt: last.dueAt, runId: last.runId };
  }
  if (locked.length > 0) {
    // The others have gone ahead. What was armed for these may have rung by now.
    const soonAt = motionMinute(calls.clock.now());
    const later = locked.map(({ move, refs }) => ({
      move: { ...move, dueAt: move.dueAt && Math.max(move.dueAt, soonAt) },
      refs,
    }));
    await carry(later, { isNew, soonAt });
  }
  const isPruned = await limit.wait(() => prune({ calls, host, keepMs, keepFailedMs }));
  if (!isPruned) await limit.wait(() => calls.alarms.arm([motionMinute(calls.clock.now())]));
  const isWhole = isNew && isComplete;
  return { isOurs: true, due, dispatched, isNew: isWhole, triedThrough: isNew && !isWhole ? triedThrough : undefined };
}

/**
 * What was moved on for dispatches that the platform refused was tried by nobody. So it is due as soon as a tick can be
 * armed for it, and its dispatches are counted from the beginning: however long the platform refuses, it is asked again
 * within two minutes, while what was taken and never claimed is looked at less and less often.
 */
export async function lookAgain(calls: Calls, moves: readonly Move[]): Promise<void> {
  const now = calls.clock.now();
  const soonAt = calls.alarms.isBeat ? now : motionMinute(now);
  const late = moves.filter(({ dueAt }) => (dueAt ?? 0) > soonAt);
  if (late.length === 0) return;
  await calls.alarms.arm([soonAt]);
  // Arming may take long. What stands armed is the instant it was moved to, and no tick comes for one that has passed.
  if (!calls.alarms.isBeat && motionMinute(calls.clock.now()) !== soonAt) return;
  const again = late.map((move) => ({ ...move, seenDueAt: move.dueAt, dueAt: soonAt }));
  await calls.moveDue({ moves: again, isNew: true, soonAt });
}

/**
 * Whether there is room for a look, which is taken then. All of a run goes together, as it has one due instant, so the
 * last one to fit may take more than is left.
 */
function takeIn(room: { turns: number; groups: number }, { refs }: Look): boolean {
  const sizes = refs.flatMap(({ ref }) => groupSizeOf(ref) ?? []);
  const others = refs.length - sizes.length;
  if ((sizes.length > 0 && room.groups <= 0) || (others > 0 && room.turns <= 0)) return false;
  for (const size of sizes) room.groups -= 1 / size;
  room.turns -= others;
  return true;
}

function sort(wishes: readonly Wish[]): {
  ready: TurnRef[];
  groups: readonly (readonly TurnRef[])[];
  later: (readonly [TurnRef[], number])[];
} {
  const now = wishes.filter(({ delayMs }) => delayMs === 0).map(({ ref }) => ref);
  return {
    ready: now.filter((ref) => !isSuspect(ref)),
    groups: groupsOf(now.filter(isSuspect)),
    later: [...Map.groupBy(wishes, ({ delayMs }) => delayMs)]
      .filter(([delayMs]) => delayMs > 0)
      .map(([delayMs, together]) => [together.map(({ ref }) => ref), delayMs] as const),
  };
}
