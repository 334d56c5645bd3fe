/**
 * Mutants of TypeScript, by hand: each order of operations and each margin that the wake rule rests on (src/core/README.md),
 * undone. `find` stands in its file exactly once.
 */
import { readFileSync } from "node:fs";
import type { Mutant } from "./sql-mutants.ts";

interface Ordering {
  readonly name: string;
  readonly file: string;
  /** What would be lost without it. */
  readonly why: string;
  readonly find: string;
  readonly replace: string;
}

const calls = "src/postgres/calls/call-sender.ts";
const clientCalls = "src/postgres/calls/client-calls.ts";
const alarms = "src/postgres/alarms.ts";
const waking = "src/core/waking.ts";
const tick = "src/engine/scheduler/tick.ts";
const mover = "src/engine/scheduler/mover.ts";
const dueAgain = "src/engine/scheduler/due-again.ts";
const dueRuns = "src/engine/scheduler/due-runs.ts";
const carryOutTurns = "src/engine/carry-out-turns.ts";
const carryOutRun = "src/engine/turn/carry-out-run.ts";
const carryOutBranch = "src/engine/turn/carry-out-branch.ts";
const invocation = "src/engine/invocation.ts";
const followUps = "src/engine/finish/follow-ups.ts";

export const orderings: readonly Ordering[] = [
  {
    name: "a call does not wait until it is armed",
    file: calls,
    why: "A process that dies between its commit and its alarm leaves a run for which nothing rings.",
    find: "return send({ armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });",
    replace: `const armed = [Math.ceil(now / 60_000 + 1) * 60_000, ...wakeInstants(now).filter((at) => at > notAfter + 30_000)];
      void this.alarms.armFor(notAfter, wakeInstants(now)).catch(() => {});
      return send({ armed, notAfter });`,
  },
  {
    name: "a call arms after its answer",
    file: calls,
    why: "The same, and the commit stands whatever becomes of the alarm.",
    find: "return send({ armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });",
    replace: `const armed = [Math.ceil(now / 60_000 + 1) * 60_000, ...wakeInstants(now).filter((at) => at > notAfter + 30_000)];
      const answer = await send({ armed, notAfter });
      await this.alarms.armFor(notAfter, wakeInstants(now));
      return answer;`,
  },
  {
    name: "wake instants of a call are not armed",
    file: calls,
    why: "A wait's end would be looked at by the sweep, hours later.",
    find: "armed: await this.alarms.armFor(notAfter, wakeInstants(now)), notAfter });",
    replace: "armed: await this.alarms.armFor(notAfter, []), notAfter });",
  },
  {
    name: "a call that came too late is not sent again",
    file: calls,
    why: "Its work would be lost, and done again, with each slow lock.",
    find: "if (tries === lastTry || (state !== tooLate && state !== unlisted)) throw error;",
    replace: "if (tries >= 1) throw error;",
  },
  {
    name: "a call that broke is not sent again",
    file: calls,
    why: "Each broken connection would cost a lease.",
    find: 'if (again === "never" || sends === lastSend || isTimeUp) throw error;',
    replace: "throw error;",
  },
  {
    name: "an ambiguous call is sent again after its limit",
    file: calls,
    why: "It would lean on alarms that may have rung already.",
    find: "if (this.clock.isKnown && this.clock.now() + pauseMs > notAfter) throw error;",
    replace: "",
  },
  {
    name: "answers do not tell the time",
    file: calls,
    why: "A process would count from its first answer on, and drift away from the database.",
    find: "const isStep = answer.now !== undefined && this.clock.learn(answer.now, sentAt);",
    replace: "const isStep = answer.now !== undefined && !this.clock.isKnown && this.clock.learn(answer.now, sentAt);",
  },
  {
    name: "a start inside a transaction is armed for an instant before its commit",
    file: clientCalls,
    why: "The alarm rings while nobody can see the run yet, and then never again.",
    find: "latestCommit(now + call.commitWithinMs));",
    replace: "now);",
  },
  {
    name: "an alarm may ring before the commit that it serves",
    file: waking,
    why: "A commit that takes up to 30 s after the call's limit is then without an alarm.",
    find: "const after = isBeat ? now : latestCommit(notAfter);",
    replace: "const after = now;",
  },
  {
    name: "the margin ends with the call's limit",
    file: waking,
    why: "The same: from there to COMMIT it may take 30 s.",
    find: "return notAfter + commitMs;",
    replace: "return notAfter;",
  },
  {
    name: "the motion minute is not armed",
    file: waking,
    why: "A run in motion whose dispatch is lost has nothing that rings for it.",
    find: "return [motionMinute(now), ...due];",
    replace: "return due;",
  },
  {
    name: "alarms are not waited for",
    file: alarms,
    why: "What is not armed yet may never be.",
    find: "await Promise.all(wanted.map((at) => this.#standing.get(at)?.armed));",
    replace: "void Promise.all(wanted.map((at) => this.#standing.get(at)?.armed)).catch(() => {});",
  },
  {
    name: "an alarm that failed counts as standing",
    file: alarms,
    why: "Every later call of the process would lean on it.",
    find: "for (const at of instants) if (this.#standing.get(at)?.armed === armed) this.#standing.delete(at);",
    replace:
      "for (const { at, inMs } of set) this.#standing.set(at, { ringsAt: since + inMs, armed: Promise.resolve() });",
  },
  {
    name: "what has rung counts as standing",
    file: alarms,
    why: "A due instant in the past would be taken for armed.",
    find: "for (const [at, { ringsAt }] of this.#standing) if (ringsAt <= through) this.#standing.delete(at);",
    replace: "",
  },
  {
    name: "a tick that failed arms nothing",
    file: "src/engine/engine.ts",
    why: "The alarm that rang for it is used up: nothing rings for what is due.",
    find: "if (isToArm) await calls.alarms.arm([calls.clock.now() + nextTickMs]);",
    replace: "",
  },
  {
    name: "a tick moves before it has armed",
    file: mover,
    why: "A process that dies in between has moved runs to instants for which nothing rings.",
    find: `    await limit.wait(() => calls.alarms.arm(dueInstants));
    const { left: notMoved, locked } = await limit.wait(() => calls.moveDue({ moves, ...how }));`,
    replace: `    const { left: notMoved, locked } = await limit.wait(() => calls.moveDue({ moves, ...how }));
    await limit.wait(() => calls.alarms.arm(dueInstants));`,
  },
  {
    name: "what was refused is moved back before it is armed",
    file: dueAgain,
    why: "A process that dies in between has moved runs to an instant for which nothing rings.",
    find: `  await calls.alarms.arm([soonAt]);
  // Arming`,
    replace: `  const before = late.map((move) => ({ ...move, seenDueAt: move.dueAt, dueAt: soonAt }));
  await calls.moveDue({ moves: before, isNew: true, soonAt });
  await calls.alarms.arm([soonAt]);
  // Arming`,
  },
  {
    name: "what was refused is moved back however long arming took",
    file: dueAgain,
    why: "The alarm may have rung meanwhile, and found nothing.",
    find: "  if (!calls.alarms.isBeat && motionMinute(calls.clock.now()) !== soonAt) return;\n",
    replace: "",
  },
  {
    name: "a tick does not arm what it moves",
    file: mover,
    why: "Nothing rings for what it has moved.",
    find: "    await limit.wait(() => calls.alarms.arm(dueInstants));\n",
    replace: "",
  },
  {
    name: "a tick dispatches before it has moved",
    file: mover,
    why: "A turn that is claimed meanwhile is counted as one that nobody claims, or the tick fails over what was sent.",
    find: "    const { left: notMoved, locked } = await limit.wait(() => calls.moveDue({ moves, ...how }));",
    replace: `    for (const { turns } of looks) for (const { ref, delayMs } of turns) await context.options.dispatch([ref], delayMs);
    const { left: notMoved, locked } = await limit.wait(() => calls.moveDue({ moves, ...how }));`,
  },
  {
    name: "a tick does not arm the next due instant of others",
    file: tick,
    why: "Each ring uses up one alarm, and a process that begins knows of none: what is due later would never be looked at.",
    find: "    if (nextDueAt !== null) await this.#limit.wait(() => calls.alarms.arm([nextDueAt]));\n",
    replace: "",
  },
  {
    name: "a tick trusts alarms that are about to ring",
    file: tick,
    why: "Another process' clock may run ahead: they may have rung.",
    find: "    calls.alarms.forgetWithin(aboutToRingMs);\n",
    replace: "",
  },
  {
    name: "a tick leaves what was woken since where it was moved to",
    file: mover,
    why: "A run that was claimed between look and move would not be looked at when its lease ends.",
    find: "    if (notMoved > 0) {",
    replace: "    if (notMoved < 0) {",
  },
  {
    name: "a tick does not arm for what was woken since",
    file: mover,
    why: "The second move stores an instant for which nothing rings.",
    find: "      await limit.wait(() => calls.alarms.arm([soonAt]));\n",
    replace: "",
  },
  {
    name: "a tick looks at a page twice",
    file: tick,
    why: "What was moved comes again on a later page, is dispatched and counted twice.",
    find: "page.runs.filter(({ runId }) => !this.#seen.has(runId))",
    replace: "page.runs",
  },
  {
    name: "a tick ends after its first page",
    file: tick,
    why: "What is beyond has no alarm left.",
    find: "if (last === undefined || runs.length < pageSize) return undefined;",
    replace: "if (last === undefined || runs.length <= pageSize) return undefined;",
  },
  {
    name: "a dispatch that fails ends the tick",
    file: mover,
    why: "One that cannot be delivered would hold up all behind it.",
    find: 'context.report(error, "dispatching");',
    replace: "throw error;",
  },
  {
    name: "a tick does not back off",
    file: waking,
    why: "What nobody can carry out keeps the database awake for ever.",
    find: "return Math.min(minuteMs * 2 ** dispatches, longestMs);",
    replace: "return minuteMs;",
  },
  {
    name: "a tick backs off without end",
    file: waking,
    why: "What nobody could carry out for a day would not be tried again for weeks.",
    find: "return Math.min(minuteMs * 2 ** dispatches, longestMs);",
    replace: "return minuteMs * 2 ** dispatches;",
  },
  {
    name: "a tick forgets the lease of a run that it does not dispatch",
    file: dueRuns,
    why: "A run at work is due at its lease's end; without that nobody finds out that its process died.",
    find: "...(nextAt === null ? [] : [nextAt === timeoutAt ? dueForTimeout(nextAt, now, pace) : dueFor(nextAt, now, pace)]),",
    replace: "",
  },
  {
    name: "what died before is dispatched among others",
    file: dueRuns,
    why: "What kills its process would kill the work of all that are claimed along with it.",
    find: "if (isReady) refs.push(together(groupSize, { runId, turn }));",
    replace: "if (isReady) refs.push({ runId, turn });",
  },
  {
    name: "one group, with all others",
    file: mover,
    why: "The same, by the dispatch itself.",
    find: "return [[ready, 0], ...groups.map((group) => [group, 0] as const), ...later];",
    replace: "return [[[...ready, ...groups.flat()], 0], ...later];",
  },
  {
    name: "a tick does not prune",
    file: tick,
    why: "Runs that are over would be kept for ever.",
    find: "    const isPruned = await this.#limit.wait(() => prune({ calls, host, keepMs, keepFailedMs, retention }));",
    replace: "    const isPruned = true;",
  },
  {
    name: "the next turn is dispatched before the finish is answered",
    file: carryOutRun,
    why: "A dispatch for a turn that does not exist yet is stale, and lost.",
    find: "  const answer = await invocation.finish(lease, finish, wakeInstants);",
    replace: `  await invocation.followUps.send([{ runId, turn: claim.turn + 1 }]);
  const answer = await invocation.finish(lease, finish, wakeInstants);`,
  },
  {
    name: "a loaded run is kept whose finish was deferred",
    file: carryOutRun,
    why: "It holds records that were dropped: only a prefix that the database itself answered counts.",
    find: `    answer.outcome === "finished" &&
    (!execution.isOver || plan.closing === true) &&`,
    replace: "    (!execution.isOver || plan.closing === true) &&",
  },
  {
    name: "a loaded run is kept before its finish was answered",
    file: carryOutRun,
    why: "A finish that got lost leaves a loaded run ahead of the history.",
    find: "  const again =\n",
    replace: "  warm.keep(loaded);\n  const again =\n",
  },
  {
    name: "a loaded run stays warm while a turn is at work on it",
    file: "src/engine/replay/warm-runs.ts",
    why: "Two turns would run one handler on.",
    find: "if (front !== undefined) this.#remove(front);",
    replace: "",
  },
  {
    name: "a loaded run on which a branch is at work is taken",
    file: "src/engine/replay/warm-runs.ts",
    why: "The closures of a body would move on under it.",
    find: "filter(({ isBodyAtWork }) => !isBodyAtWork)",
    replace: "filter(() => true)",
  },
  {
    name: "a loaded run that diverged stays warm",
    file: carryOutRun,
    why: "A later turn would go on from where the code did not fit.",
    find: `    execution.divergence === undefined &&
    plan.setback === undefined &&`,
    replace: "    true &&",
  },
  {
    name: "a short wait is not dispatched",
    file: followUps,
    why: "It would last until the motion minute.",
    find: "if (delayMs <= alarms.pace.shortWaitMs) await this.send([ref], delayMs);",
    replace: "",
  },
  {
    name: "what is ready is not dispatched",
    file: followUps,
    why: "Each step would last until the motion minute.",
    find: "await this.send([...(answer.isReady ? [next] : []), ...branchRefs(runId, answer.branches ?? [])]);",
    replace: "await this.send(branchRefs(runId, answer.branches ?? []));",
  },
  {
    name: "branches are not dispatched",
    file: followUps,
    why: "Each branch would last until the motion minute.",
    find: "await this.send([...(answer.isReady ? [next] : []), ...branchRefs(runId, answer.branches ?? [])]);",
    replace: "await this.send(answer.isReady ? [next] : []);",
  },
  {
    name: "a step that can be undone begins before what led to it is recorded",
    file: "src/engine/turn/run-turn.ts",
    why: "Its process dies and the run is cancelled: the replay never asks for the step, and nobody undoes it.",
    find: "if (this.#isStepDone || (isAfterRecords(step) && this.#records.length > 0))",
    replace: "if (this.#isStepDone)",
  },
  {
    name: "whoever is to come in a group is not dispatched",
    file: carryOutTurns,
    why: "A turn whose process died would wait for the next tick.",
    find: "const regrouped = Promise.all(groupsOf(suspects).map((group) => followUps.send(group)));",
    replace: "const regrouped = undefined;",
  },
  {
    name: "a dispatch that fails fails the turn",
    file: followUps,
    why: "Dispatches are hints; what was committed stands.",
    find: `      this.#onError(error, "dispatching");`,
    replace: "      throw error;",
  },
  {
    name: "an exhausted step is carried out once more",
    file: invocation,
    why: "What kills each process that carries it out would go on for ever.",
    find: "      isExhausted: beginnings >= defaults.maxBeginnings,",
    replace: "      isExhausted: false,",
  },
  {
    name: "what goes alone is carried out uncounted",
    file: carryOutTurns,
    why: "What kills each process that carries it out would go on for ever.",
    find: "if (claimed.claims > 0 && !(await invocation.leases.begin(lease, claimed.beginnings + 1))) return;",
    replace: "",
  },
  {
    name: "what goes alone is carried out before it is counted",
    file: carryOutTurns,
    why: "What kills its process at once would never be counted.",
    find: "if (claimed.claims > 0 && !(await invocation.leases.begin(lease, claimed.beginnings + 1))) return;",
    replace: "if (claimed.claims > 0) void invocation.leases.begin(lease, claimed.beginnings + 1);",
  },
  {
    name: "who was superseded before it began begins",
    file: "src/engine/claim/leases.ts",
    why: "Its body would run beside that of whoever claimed meanwhile.",
    find: `return begun.turns[0]?.outcome === "renewed";`,
    replace: "return begun.turns.length > 0;",
  },
  {
    name: "who does not know whether it was counted does not begin",
    file: "src/engine/claim/leases.ts",
    why: "Its step would be given up though it was never begun.",
    find: "return !lease.isLost; // the call",
    replace: "return false; // the call",
  },
  {
    name: "the retry of a branch arms nothing",
    file: carryOutBranch,
    why: "A long wait between two attempts has only its alarm.",
    find: "retryInMs === undefined ? [] : [endedAt + retryInMs],",
    replace: "[],",
  },
  {
    name: "a slow body withholds the results of others",
    file: "src/engine/finish/finishes.ts",
    why: "Their leases would run out, and their steps be done again.",
    find: "else if (this.#waiting.length === 1) this.#cancelTimer = host.after(longestMs, () => void this.#flush());",
    replace: "",
  },
  {
    name: "leases are not renewed",
    file: "src/engine/claim/leases.ts",
    why: "A body that takes longer than a lease is carried out beside itself.",
    find: "    this.#cancelTimer ??= this.#host.after(this.#leaseMs / 2, () => void this.#renew());\n",
    replace: "",
  },
  {
    name: "leases are renewed once",
    file: "src/engine/claim/leases.ts",
    why: "The same, for a body that takes longer than one and a half leases.",
    find: "    this.#cancelTimer = this.#host.after(this.#leaseMs / 2, () => void this.#renew());\n    try {",
    replace: "    this.#cancelTimer = undefined;\n    try {",
  },
  {
    name: "a lease is renewed when it is over",
    file: "src/engine/claim/leases.ts",
    why: "Somebody else may have claimed it by then.",
    find: "this.#cancelTimer ??= this.#host.after(this.#leaseMs / 2,",
    replace: "this.#cancelTimer ??= this.#host.after(this.#leaseMs,",
  },
  {
    name: "nobody is told that its lease is lost",
    file: "src/engine/claim/leases.ts",
    why: "A body would go on though nothing that it does is recorded.",
    find: 'if (answer?.outcome === "superseded") this.#lose(lease);',
    replace: 'if (answer?.outcome === "superseded") continue;',
  },
  {
    name: "a lease that was passed on counts as lost",
    file: "src/engine/claim/leases.ts",
    why: "The next step's body would be aborted, because the renewal named the token of the last one.",
    find: "if (lease.turn !== turn) continue;",
    replace: "",
  },
  {
    name: "a plan does not arm the run's timeout",
    file: "src/engine/turn/plan.ts",
    why: "Nothing would ring at a timeout.",
    find: "return [...instants, dueForTimeout(timeoutAt, now, pace)];",
    replace: "return instants;",
  },
  {
    name: "a plan does not arm the next attempt",
    file: "src/engine/turn/run-turn.ts",
    why: "A long wait between two attempts has only its alarm.",
    find: "wakeInstants: this.#withTimeout([now + inMs], now) });",
    replace: "wakeInstants: this.#withTimeout([], now) });",
  },
  {
    name: "a plan does not arm its waits",
    file: "src/engine/turn/run-turn.ts",
    why: "A sleep has only its alarm.",
    find: "wakeInstants: this.#withTimeout(waits, this.#options.now()),",
    replace: "wakeInstants: this.#withTimeout([], this.#options.now()),",
  },
  {
    name: "a record may be older than the one ahead of it",
    file: "src/engine/turn/plan.ts",
    why: "What `step.now()` says would go back.",
    find: "return Math.max(now, execution.now, lastRecordAt);",
    replace: "return now;",
  },
  {
    name: "two steps in one turn",
    file: "src/engine/turn/run-turn.ts",
    why: "A process that dies over the second one would have the first one done again.",
    find: "if (this.#isStepDone || (isAfterRecords(step) && this.#records.length > 0))",
    replace: "if (isAfterRecords(step) && this.#records.length > 0)",
  },
  {
    name: "a step is carried out beside losers that are still at work",
    file: "src/engine/turn/inline-step.ts",
    why: "Their results may come before its own: its record would be dropped.",
    find: "return pending?.some(({ isReleased }) => isReleased) || hasBranches(loaded) ? undefined : sole;",
    replace: "return sole;",
  },
  {
    name: "the motion minute is the next whole one",
    file: waking,
    why: "The scheduler would look at runs whose turn was only just dispatched.",
    find: "return Math.ceil(now / minuteMs + 1) * minuteMs;",
    replace: "return Math.ceil(now / minuteMs) * minuteMs;",
  },
];

/** @throws Error where `find` does not stand in its file exactly once. */
export function engineMutants(root: URL): Mutant[] {
  return orderings.map(({ name, file, find, replace }) => {
    const text = readFileSync(new URL(file, root), "utf8");
    const [before = "", ...after] = text.split(find);
    if (after.length !== 1) throw new Error(`"${name}": what is to be changed stands ${after.length} times in ${file}`);
    const line = before.split("\n").length;
    const mutated = before + replace + after.join("");
    return { id: `engine: ${name}`, file, line, from: find.trim(), to: replace.trim() || "nothing", mutated };
  });
}
