/** One call in which the same turn comes twice: it is done once, and told the same twice. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRecord, aRun, aRunAtWork, at, branches, type Run, terms } from "./runs.ts";
import { type Stage, stageOn } from "./stage.ts";

type Turns = (run: Run) => readonly object[];
type Case = readonly [
  what: string,
  name: "claim_turns" | "finish_turns",
  arrange: (stage: Stage) => Promise<Run>,
  turns: Turns,
];

const cases: readonly Case[] = [
  ["the claim of a run", "claim_turns", aRun, (run) => [run.toClaim({ token: "first" })]],
  [
    "the claim of a branch",
    "claim_turns",
    (stage) => aParkedRun(stage, branches(["a", "b"])),
    (run) => ["a", "b"].map((path) => ({ ...run.toClaim({ token: path }), ...at(path) })),
  ],
  [
    "the finish of a run",
    "finish_turns",
    aRunAtWork,
    (run) => [run.toFinish({ token: "first", next: "ready", records: [aRecord("step", "charge")] })],
  ],
  [
    "the result of a branch",
    "finish_turns",
    (stage) => aFanOut(stage, ["a", "b"]),
    (run) => ["a", "b"].map((path) => run.toFinishBranch(path, { token: path })),
  ],
];

describeSomePostgres(
  "in one call that has it twice, is done once:",
  (database) => {
    const stage = stageOn(database);

    test.each(cases)("%s", async (_, name, arrange, turnsOf) => {
      const run = await arrange(stage);
      const turns = turnsOf(run);
      const { turns: answers } = await stage.onlooker.call(name, { ...terms, turns: [...turns, ...turns] });
      expect(answers.slice(turns.length)).toEqual(answers.slice(0, turns.length));
      expect(answers.every(({ outcome }) => outcome === "claimed" || outcome === "finished")).toBe(true);
      const records = name === "claim_turns" ? 0 : turns.length;
      expect(await run.history()).toHaveLength(records);
      expect(await run.state()).toMatchObject({ lastPosition: records });
    });
  },
  { perTest: true },
);
