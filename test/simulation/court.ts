/** Gathers what is known of each run once nothing is left to happen, and asks for its verdict. */
import type pg from "pg";
import { openCleanups } from "./afterwards.ts";
import { judgeDeliveries } from "./kept.ts";
import type { Movers } from "./movers.ts";
import type { Operators } from "./operators.ts";
import type { People } from "./people.ts";
import type { ProgramContract } from "./programs/contract.ts";
import { partsOf } from "./programs/program.ts";
import { indexOf, runIdOf } from "./run-ids.ts";
import type { PlannedRun, Scenario } from "./scenario.ts";
import type { Senders } from "./senders.ts";
import type { RunRows } from "./snapshot.ts";
import type { TroubleSoFar } from "./trouble-so-far.ts";
import { type Case, judge } from "./verdict.ts";
import type { Witness } from "./witness.ts";

export interface CourtOptions {
  readonly scenario: Scenario;
  readonly pool: pg.Pool;
  readonly people: People;
  readonly senders: Senders;
  readonly operators: Operators;
  readonly movers: Movers;
  readonly witness: Witness;
  readonly trouble: TroubleSoFar;
  readonly contractOf: (runId: string) => ProgramContract;
  readonly rowsOf: (runId: string) => RunRows | undefined;
  /** Answers a stored text as it was before it went to a store. */
  readonly textOf: (text: string) => string;
}

/** What a run and its forks have in common. */
type Known = Omit<Case, "mayHaveStarted" | "hasStarted" | "mayLackUrl" | "openCleanups" | "versions">;

export class Court {
  readonly #options: CourtOptions;

  constructor(options: CourtOptions) {
    this.#options = options;
  }

  async judge(): Promise<readonly string[]> {
    const { scenario, people, senders, operators, movers, pool, contractOf, rowsOf } = this.#options;
    const wrongs: string[] = [];
    for (const [index, plan] of scenario.runs.entries()) {
      const runId = runIdOf(index);
      const found = judge({
        ...this.#knownOf(runId, plan),
        versions: movers.versionsOf(runId, contractOf(runId)),
        mayHaveStarted: ["somebody in a hurry", "signal", "sender"].includes(plan.by),
        hasStarted: people.hasStarted(runId),
        mayLackUrl: this.#isGivenUp(runId),
        openCleanups: await this.#openCleanups(runId, plan),
      });
      wrongs.push(...found.map((wrong) => `of ${runId}: ${wrong}`));
    }
    const delivered = await judgeDeliveries(pool, {
      delivered: senders.delivered,
      rowsOf,
      mayBeDeleted: (runId) => operators.of(runId).mayBeDeleted,
    });
    return [...wrongs, ...delivered, ...this.#judgeForks()];
  }

  /** What a fork does is not that of its program alone: it goes on from where the run before it had come. */
  *#judgeForks(): Generator<string> {
    const { scenario, operators, movers, contractOf } = this.#options;
    for (const { runId, of, isTold } of operators.forks) {
      const plan = scenario.runs[indexOf(of)];
      if (plan === undefined) throw new Error(`there is no run ${of}`);
      const own = this.#knownOf(runId, plan);
      const mayHaveEnded = own.mayHaveEnded || plan.acts.some(({ verb }) => verb === "cancel version");
      const before = this.#knownOf(of, plan);
      const [bodies, given] = [own.bodies + before.bodies, before.given];
      const found = judge({
        ...{ ...own, mayHaveEnded, bodies, given, isRepaired: true },
        ...{ mayHaveStarted: true, hasStarted: isTold, openCleanups: [] },
        versions: movers.everOf(of, contractOf(of)),
        mayLackUrl: partsOf(plan.program).some(({ kind }) => kind === "own callback"),
      });
      for (const wrong of found) yield `of ${runId}, a fork of ${of}: ${wrong}`;
    }
  }

  /** Tells whether an answer to a callback was refused while the run was over. Who sent it does not know that a repair has opened the wait again. */
  #isGivenUp(runId: string): boolean {
    const refusedAt = this.#options.people.refusedAt(runId);
    const { repairedAt } = this.#options.operators.of(runId);
    return refusedAt !== undefined && repairedAt !== undefined && refusedAt <= repairedAt;
  }

  #knownOf(runId: string, { program, timeoutMs, acts }: PlannedRun): Known {
    const { people, operators, witness, trouble } = this.#options;
    const rows = this.#options.rowsOf(runId);
    const handled = operators.of(runId);
    const hasLaterEpoch = (rows?.epoch ?? 0) > 0;
    const continuesAsNew = partsOf(program).some(({ kind }) => kind === "laps");
    const { beginnings, ...testimony } = witness.of(runId);
    return {
      ...{ program, timeoutMs, rows, ...handled, hasLaterEpoch, ...testimony },
      sent: people.sentTo(runId),
      answers: { answered: people.answersTo(runId), beginnings },
      mayBeTerminated: acts.some(({ verb }) => verb === "terminate"),
      areLeasesCut: trouble.areLeasesCut,
      isCalm: trouble.isNone,
      isRepaired: handled.repairs > 0 || (hasLaterEpoch && !continuesAsNew),
    };
  }

  /** The cleanups that the handler of a run that has closed had entered and not left. */
  async #openCleanups(runId: string, { program }: PlannedRun): Promise<readonly string[]> {
    const { pool, operators, contractOf, rowsOf, textOf } = this.#options;
    // A run that awaits something else is over after a second of that.
    const isStill = partsOf(program).every(({ kind }) => kind !== "foreign");
    const { isCancelled } = operators.of(runId);
    const hasClosed = rowsOf(runId)?.status === (isCancelled ? "cancelled" : "failed") && rowsOf(runId)?.closings === 1;
    if (!isStill || !hasClosed) return [];
    return await openCleanups(pool, { runId, contract: contractOf(runId), program, textOf });
  }
}
