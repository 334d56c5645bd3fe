/** The people who look after runs: they pause and resume, cancel and terminate, retry, restart, fork, upgrade and delete. */

import { placeName } from "../../src/core/replay/demand.ts";
import type { Act, Ending, Fork, OfChildren, Pausing, Removal, Restart, Retry } from "./acts.ts";
import type { Movers } from "./movers.ts";
import type { Answered, Patience } from "./patience.ts";
import type { ProgramContract } from "./programs/contract.ts";
import type { Facts } from "./programs/part.ts";

/** What somebody did to a run, was told of it, or has only asked for. */
export interface Handled {
  /** They were told that it is being cancelled, or is cancelled. */
  readonly isCancelled: boolean;
  readonly isTerminated: boolean;
  /**
   * They have asked for either. A call that was cut off may be carried out late, though the same call, sent again, was told
   * in between that there is no such run.
   */
  readonly mayHaveEnded: boolean;
  /** How often they were told that it was retried or restarted. */
  readonly repairs: number;
  /** When they were told so last. Undefined: never. */
  readonly repairedAt: number | undefined;
  /** How many results of steps they gave to its retries. */
  readonly given: number;
  /** They were told that it is deleted. */
  readonly isDeleted: boolean;
  readonly mayBeDeleted: boolean;
}

export interface Copy {
  readonly runId: string;
  readonly of: string;
  /** Somebody was told that it is there. */
  isTold: boolean;
}

export interface OperatorsOptions {
  readonly patience: Patience;
  readonly movers: Movers;
  /** The runs that a run has started. */
  readonly childrenOf: (runId: string) => readonly string[];
  /** Notes a signal that was acknowledged. */
  readonly onSignal: (runId: string, letter: Facts["signals"][number]) => void;
}

/** A call that was cut off is carried out within this time, or never. */
const lateMs = 600_000;
/** How often somebody tries what a run that is not over refuses, and after how long. */
const mostTries = 5;
const laterMs = 600_000;

export class Operators {
  readonly #patience: Patience;
  readonly #movers: Movers;
  readonly #childrenOf: OperatorsOptions["childrenOf"];
  readonly #onSignal: OperatorsOptions["onSignal"];
  readonly #handled = new Map<string, Handled>();
  readonly #forks: Copy[] = [];

  constructor({ patience, movers, childrenOf, onSignal }: OperatorsOptions) {
    this.#movers = movers;
    this.#childrenOf = childrenOf;
    this.#patience = patience;
    this.#onSignal = onSignal;
  }

  of(runId: string): Handled {
    return this.#handled.get(runId) ?? untouched;
  }

  get forks(): readonly Copy[] {
    return this.#forks;
  }

  /** Does it at its time. */
  act(contract: ProgramContract, runId: string, act: Act): void {
    this.#patience.act(() => this.#do(contract, runId, act));
  }

  #do(contract: ProgramContract, runId: string, act: Act): Promise<void> {
    switch (act.verb) {
      case "pause":
        return this.#pause(runId, act);
      case "pause workflow":
      case "pause version":
        return this.#pauseMany(contract, act);
      case "cancel":
      case "terminate":
        return this.#end(runId, act.verb, act.atMs);
      case "cancel version":
        return this.#cancelVersion(contract, runId, act);
      case "retry":
        return this.#retry(contract, runId, act);
      case "restart":
        return this.#restart(runId, act);
      case "fork":
        return this.#fork(contract, runId, act);
      case "delete":
        return this.#delete(contract, runId, act);
      case "upgrade":
        return this.#movers.move(contract, runId, act);
      case "pause children":
      case "retry children":
      case "restart children":
        return this.#handleChildren(runId, act);
    }
  }

  async #handleChildren(runId: string, { verb, atMs, forMs }: OfChildren): Promise<void> {
    await this.#patience.pause(atMs, `is to ${verb} of ${runId}`);
    for (const child of this.#childrenOf(runId)) {
      if (verb === "pause children") {
        this.#patience.act(() => this.#pause(child, { verb: "pause", atMs: 0, forMs }));
        continue;
      }
      const how = verb === "retry children" ? "retry" : "restart";
      const once = async () => {
        const terms = this.#terms();
        return "answer" in (await this.#patience.insist((client) => client[how](child, terms)));
      };
      this.#patience.act(() => this.#try(child, { verb: how, atMs: 0 }, once));
    }
  }

  async #pause(runId: string, { atMs, forMs }: Pausing): Promise<void> {
    await this.#patience.pause(atMs, `is to pause ${runId}`);
    const terms = this.#terms();
    const done = await this.#patience.insist((client) => client.pause(runId, terms));
    // A try that was cut off may be carried out late, though a later one was told that there is no such run.
    await this.#patience.pause("answer" in done ? forMs : Math.max(forMs, lateMs), `is to resume ${runId}`);
    const again = this.#terms();
    await this.#patience.insist((client) => client.resume(runId, again));
  }

  /** All runs of the workflow, those that come meanwhile too; or all of a version that are there. */
  async #pauseMany({ name, version }: ProgramContract, { verb, atMs, forMs }: Pausing): Promise<void> {
    const of = verb === "pause workflow" ? { workflow: name } : { workflow: name, version };
    const [pausing, resuming] = [this.#actId(), this.#actId()];
    await this.#patience.pause(atMs, `is to ${verb} ${version}`);
    await this.#patience.insist((client) =>
      verb === "pause workflow" ? client.pauseWorkflow(name, pausing) : client.pauseRuns(of, pausing),
    );
    await this.#patience.pause(Math.max(forMs, lateMs), `is to resume what they paused of version ${version}`);
    await this.#patience.insist((client) =>
      verb === "pause workflow" ? client.resumeWorkflow(name, resuming) : client.resumeRuns(of, resuming),
    );
  }

  /**
   * The same call is sent until it is answered. If the run began again meanwhile, nobody knows which came first: the call may have taken
   * effect long before its answer.
   */
  async #end(runId: string, verb: "cancel" | "terminate", afterMs: number): Promise<void> {
    await this.#patience.pause(afterMs, `is to ${verb} ${runId}`);
    const terms = this.#terms();
    this.#note(runId, { mayHaveEnded: true });
    const { repairs } = this.of(runId);
    const done = await this.#patience.insist((client) => client[verb](runId, terms));
    if ("answer" in done && this.of(runId).repairs === repairs)
      this.#note(runId, verb === "cancel" ? { isCancelled: true } : { isTerminated: true });
  }

  async #cancelVersion({ name, version }: ProgramContract, runId: string, { atMs }: Ending): Promise<void> {
    await this.#patience.pause(atMs, `is to cancel the runs of version ${version}`);
    const terms = this.#actId();
    this.#note(runId, { mayHaveEnded: true });
    await this.#patience.insist((client) => client.cancelRuns({ workflow: name, version }, terms));
  }

  /** Retries it, with another signal, or with results where some are asked for. */
  async #retry(contract: ProgramContract, runId: string, { atMs, signal }: Retry): Promise<void> {
    let results: Readonly<Record<string, string>> | undefined;
    await this.#try(runId, { verb: "retry", atMs }, async () => {
      const terms = { ...this.#terms(), ...(signal && { signal, contract }), ...(results && { results }) };
      const done = await this.#patience.insist((client) => client.retry(runId, terms));
      const places =
        "refused" in done && done.refused === "result_needed" ? String(done.details?.["places"]).split(", ") : [];
      results = places.length > 0 ? Object.fromEntries(places.map((place) => [place, "given"])) : results;
      if ("answer" in done)
        this.#note(runId, { given: this.of(runId).given + Object.keys(terms.results ?? {}).length });
      if ("answer" in done && signal !== undefined) this.#onSignal(runId, signal);
      return this.#noteRepair(runId, done);
    });
  }

  async #restart(runId: string, { atMs, kept }: Restart): Promise<void> {
    await this.#try(runId, { verb: "restart", atMs }, async () => {
      const terms = this.#terms();
      const from = await this.#placeAfter(runId, kept);
      return this.#noteRepair(
        runId,
        await this.#patience.insist((client) => client.restart(runId, { ...terms, from })),
      );
    });
  }

  async #fork(contract: ProgramContract, runId: string, { atMs, kept, follows }: Fork): Promise<void> {
    const fork: Copy = { runId: `${runId.slice(0, -1)}${this.#forks.length + 1}`, of: runId, isTold: false };
    this.#forks.push(fork);
    await this.#try(runId, { verb: "fork", atMs }, async () => {
      const from = await this.#placeAfter(runId, kept);
      const done = await this.#patience.insist((client) => client.fork(runId, { newRunId: fork.runId, from }));
      fork.isTold ||= "answer" in done;
      return fork.isTold;
    });
    if (fork.isTold && follows !== undefined) await this.#do(contract, fork.runId, follows);
  }

  async #delete(contract: ProgramContract, runId: string, { atMs, isStartedAgain }: Removal): Promise<void> {
    this.#note(runId, { mayBeDeleted: true });
    await this.#try(runId, { verb: "delete", atMs }, async () => {
      const terms = this.#terms();
      const done = await this.#patience.insist((client) => client.delete(runId, terms));
      if ("answer" in done) this.#note(runId, { isDeleted: true });
      return "answer" in done;
    });
    if (!isStartedAgain || !this.of(runId).isDeleted) return;
    await this.#patience.insist((client) => client.start(contract, undefined, { runId }));
  }

  /** Tries several times: until then the run may be over, or stopped. */
  async #try(runId: string, { verb, atMs }: Pick<Act, "verb" | "atMs">, once: () => Promise<boolean>): Promise<void> {
    await this.#patience.pause(atMs, `is to ${verb} ${runId}`);
    for (let tries = 1; tries <= mostTries && !(await once()); tries += 1)
      await this.#patience.pause(laterMs, `is to ${verb} ${runId} again`);
  }

  #noteRepair(runId: string, done: Answered<unknown>): boolean {
    if ("answer" in done)
      this.#note(runId, {
        ...{ repairs: this.of(runId).repairs + 1, repairedAt: this.#patience.now },
        ...{ isCancelled: false, isTerminated: false },
      });
    return "answer" in done;
  }

  /** Answers the place of the record that follows so many. Undefined: there are none, or it is no step. */
  async #placeAfter(runId: string, kept: number): Promise<string | undefined> {
    const looked = await this.#patience.insist((client) => client.history(runId, { after: kept, limit: 1 }));
    const [record] = "answer" in looked ? looked.answer.records : [];
    return kept === 0 || record === undefined || record.path === "" ? undefined : placeName(record);
  }

  #terms() {
    return { callId: this.#patience.chance.uuid(), by: "somebody" };
  }

  /** The id of an act on many runs is of version 7. All runs of a world are older than it. */
  #actId() {
    const id = this.#patience.chance.uuid();
    return { callId: `7${id.slice(1, 14)}7${id.slice(15)}`, by: "somebody" };
  }

  #note(runId: string, more: Partial<Handled>): void {
    this.#handled.set(runId, { ...this.of(runId), ...more });
  }
}

const untouched: Handled = {
  isCancelled: false,
  isTerminated: false,
  mayHaveEnded: false,
  repairs: 0,
  repairedAt: undefined,
  given: 0,
  isDeleted: false,
  mayBeDeleted: false,
};
