/** The world as the bodies and handlers of programs see it: what they ask of it, and what they tell it. */
import { atWork } from "../engine/mortal.ts";
import type { Fleet } from "./fleet.ts";
import type { People } from "./people.ts";
import type { ProgramContract } from "./programs/contract.ts";
import type { ProgramWorld } from "./programs/part.ts";
import type { Witness } from "./witness.ts";

interface WorldParts {
  readonly witness: Witness;
  readonly fleet: () => Fleet;
  readonly people: () => People;
  readonly contractOf: (runId: string) => ProgramContract;
}

export function worldOfBodies({ witness, fleet, people, contractOf }: WorldParts): ProgramWorld {
  return {
    onBody: (runId, key, isCleanup) => witness.noteBody(runId, key, isCleanup),
    onBodyOfOnce: (runId, key) => witness.noteOnce(runId, key),
    onStatus: (runId, status) => witness.noteStatus(runId, status),
    onReturn: (runId, version) => witness.noteReturn(runId, version),
    ledger: witness.ledger,
    nextTry: (what) => witness.nextTry(what),
    die: () => {
      const process = atWork.getStore();
      if (process !== undefined) fleet().crash(process);
      return new Promise(() => {});
    },
    foreign: (ms) =>
      new Promise((resolve) => {
        if (ms !== undefined) atWork.getStore()?.timers.after(ms, resolve);
      }),
    beckon: (letter) => people().beckon(contractOf(letter.runId), letter),
    invite: (invitation) => people().invite(contractOf(invitation.runId), invitation),
  };
}
