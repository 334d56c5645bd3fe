/** A step whose body kills its process, some times or always. */
import fc from "fast-check";
import type { StepContext } from "layover";
import { crashed, mostBeginnings, stepCrashed } from "./crashed.ts";
import { markOf, type Program, type ProgramWorld, type Verb } from "./part.ts";
import { exactly, returning, throwing } from "./prospects.ts";
import { names } from "./step.ts";
import { compensation, ofStep, type UndoSpec, undoInWords, undos } from "./undo.ts";
import { options } from "./words.ts";

/** Executions of each body, by world. The world outlives the processes that die in it. */
const executions = new WeakMap<ProgramWorld, Map<string, number>>();

/** `deaths`: how many executions of the body kill the process, before one succeeds. */
export function poisonous(name: string, deaths: number, undo?: UndoSpec): Program {
  return {
    kind: "poison",
    parts: [],
    play: (playing) => {
      const { step, runId, at, world } = playing;
      const mark = markOf(name, at);
      const body = ({ idempotencyKey }: StepContext) => {
        world.onBody(runId, idempotencyKey);
        if (undo !== undefined) world.ledger?.charge(runId, idempotencyKey);
        return countOf(world, `${runId} ${mark}`) <= deaths ? world.die() : mark;
      };
      return step.run(name, body, compensation(undo, playing, mark, ofStep));
    },
    prospects: ({ at, facts }) => {
      if (deaths === Number.POSITIVE_INFINITY) return throwing(stepCrashed);
      return { ...returning(exactly(markOf(name, at))), throws: crashed(facts.beginnings ?? 0) };
    },
    inWords: (at) =>
      `await step.run("${name}", dies(${deaths}, "${markOf(name, at)}")${options({ compensate: undoInWords(undo) })})`,
  };
}

function countOf(world: ProgramWorld, key: string): number {
  const counts = executions.get(world) ?? new Map<string, number>();
  executions.set(world, counts);
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
}

/** How many of its deaths may take other turns along. After these it goes alone. */
const mostInCompany = 4;
const deaths = fc.constantFrom(1, 2, mostInCompany, mostInCompany + mostBeginnings - 1, Number.POSITIVE_INFINITY);

export const poison: Verb = {
  weight: 2,
  arbitrary: () =>
    fc
      .tuple(names, deaths, fc.option(undos, { nil: undefined, freq: 2 }))
      .map(([name, deaths, undo]) => poisonous(name, deaths, undo)),
};
