/** Mutants of what follows a turn: its finish, its dispatches, and the loaded runs that are kept for the next one. */
import { carryOutTurns, type Ordering } from "./orderings.ts";

const carryOutRun = "src/engine/turn/carry-out-run.ts";
const followUps = "src/engine/finish/follow-ups.ts";

export const ofTurns: readonly Ordering[] = [
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
];
