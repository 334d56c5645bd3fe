/** Mutants of what a tick does, and in which order: it arms, moves, dispatches, backs off, prunes. */
import { type Ordering, waking } from "./orderings.ts";

const tick = "src/engine/scheduler/tick.ts";
const mover = "src/engine/scheduler/mover.ts";
const dueAgain = "src/engine/scheduler/due-again.ts";
const dueRuns = "src/engine/scheduler/due-runs.ts";

export const ofTicks: readonly Ordering[] = [
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
    replace: `  const before = due.map((move) => ({ ...move, seenDueAt: move.dueAt, dueAt: soonAt }));
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
    name: "what was refused is counted on",
    file: dueAgain,
    why: "If a process dies before it learns of a refusal, the next look comes hours later.",
    find: "moves: again, isNew: true, soonAt",
    replace: "moves: again, isNew: false, soonAt",
  },
  {
    name: "what was refused is moved back beyond the instant at which it is due anyway",
    file: dueAgain,
    why: "The tick of that instant finds nothing.",
    find: "Math.min(move.dueAt, soonAt)",
    replace: "soonAt",
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
];
