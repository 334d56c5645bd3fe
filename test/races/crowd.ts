/**
 * A crowd of sessions that play the whole protocol on the same few runs, all at once and as carelessly as a network
 * allows: sets in any order, dispatches lost and doubled, finishes sent again, leases that end under their holders.
 */
import { randomUUID } from "node:crypto";
import { motionMinute } from "../../src/core/waking.ts";
import type * as wire from "../../src/postgres/wire.ts";
import { pick, shuffled } from "./by-chance.ts";
import { armed, type Held, Inventor, type Ref } from "./crowd-finishes.ts";
import { at, terms } from "./runs.ts";
import type { Session, Stage } from "./stage.ts";

/** What the crowd was told, to be compared with what the tables say. */
export interface Told {
  /** Tokens that were told that they finished a turn, by run or branch and turn. */
  readonly finished: Map<string, Set<string>>;
  /** Tokens that were told that they have a long lease, by run or branch and turn. */
  readonly holders: Map<string, Set<string>>;
  /** Paths of which the crowd was told that they are recorded, by run. */
  readonly recorded: Map<string, Set<string>>;
  /** Paths of steps whose records were dropped, by run. */
  readonly dropped: Map<string, Set<string>>;
  readonly errors: unknown[];
  readonly outcomes: Map<string, number>;
}

/** Kinds of moves. One that is listed more often happens more often. */
const moves = [
  ...["tick", "claim alone", "renew", "signal", "answer", "read", "start"],
  ...["claim", "claim", "claim", "finish", "finish", "finish"],
] as const;
const longLeaseMs = 60_000;
const shortLeaseMs = 40;

export class Crowd {
  readonly told: Told = {
    finished: new Map(),
    holders: new Map(),
    recorded: new Map(),
    dropped: new Map(),
    errors: [],
    outcomes: new Map(),
  };
  readonly #stage: Stage;
  readonly #runs: string[] = [];
  readonly #inventor = new Inventor();
  readonly #names: number;
  #dispatched: Ref[] = [];
  #held: Held[] = [];

  constructor(stage: Stage, { runs }: { runs: number }) {
    this.#stage = stage;
    this.#names = runs;
  }

  async play({ players, rounds }: { players: number; rounds: number }): Promise<void> {
    for (let run = 0; run < this.#names; run += 1) await this.#start(this.#stage.onlooker);
    const sessions = await Promise.all(
      Array.from({ length: players }, async (_, index) => {
        const session = await this.#stage.session(`player ${index}`);
        await session.query("set deadlock_timeout = '50ms'");
        return session;
      }),
    );
    await Promise.all(sessions.map((session) => this.#playOn(session, rounds)));
  }

  async #playOn(session: Session, rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      try {
        await this.#move(session, pick(moves));
      } catch (error) {
        this.told.errors.push(error);
      }
    }
  }

  async #move(session: Session, move: (typeof moves)[number] | undefined): Promise<void> {
    switch (move) {
      case "tick":
        return await this.#tick(session);
      case "claim":
        return await this.#claim(session);
      case "claim alone":
        return await this.#claimAlone(session);
      case "finish":
        return await this.#finish(session);
      case "renew":
        return await this.#renew(session);
      case "signal":
        return await this.#signal(session);
      case "answer":
        return await this.#answer(session);
      case "read":
        return await this.#read(session);
      default:
        return await this.#start(session);
    }
  }

  /** Starts a run. Half of the names are taken by runs that are not over yet. */
  async #start(session: Session): Promise<void> {
    const id = `o${Math.floor(Math.random() * this.#names)}`;
    const runId = randomUUID();
    const call = { runId, workflow: "flow", version: 1, encodedInput: "0{}", id, armed: armed() };
    const timeoutMs = Math.random() < 0.2 ? 500 : undefined;
    const answer = await session.call("start_run", { ...call, timeoutMs });
    if (answer.outcome !== "started") return;
    this.#runs.push(runId);
    this.#dispatched.push({ runId, turn: 1 });
  }

  async #tick(session: Session): Promise<void> {
    const { runs } = await session.call("list_due", { versions: terms.versions, limit: 100, isNew: true });
    const listed = runs.map(({ runId, dueAt, isReady, branches }) => ({
      runId,
      seenDueAt: dueAt,
      dueAt: motionMinute(Date.now()),
      isDispatched: isReady,
      branches: shuffled(branches ?? []),
    }));
    await session.call("move_due", { moves: shuffled(listed), soonAt: motionMinute(Date.now()) });
    for (const { runId, turn, isReady, branches } of runs) {
      if (isReady) this.#dispatched.push({ runId, turn });
      for (const branch of branches ?? []) this.#dispatched.push({ runId, ...toRef(branch) });
    }
    await session.call("prune_runs", { keepMs: 200, keepFailedMs: 200, limit: 2 });
  }

  async #claim(session: Session): Promise<void> {
    await this.#claimSet(session, this.#takeRefs(1 + Math.floor(Math.random() * 6)), false);
  }

  async #claimAlone(session: Session): Promise<void> {
    await this.#claimSet(session, this.#takeRefs(1), true);
  }

  async #claimSet(session: Session, refs: readonly Ref[], alone: boolean): Promise<void> {
    if (refs.length === 0) return;
    const turns = refs.map((ref) => ({ ...ref, token: randomUUID(), alone }));
    const leaseMs = Math.random() < 0.3 ? shortLeaseMs : longLeaseMs;
    const answer = await session.call("claim_turns", { ...terms, leaseMs, turns });
    for (const [index, claimed] of answer.turns.entries()) {
      this.#heard(`claim ${claimed.outcome}`);
      const [ref, turn] = [refs[index], turns[index]];
      if (ref === undefined || turn === undefined) continue;
      if (claimed.outcome === "stale") this.#dispatched.push({ ...ref, turn: claimed.turn });
      if (claimed.outcome !== "claimed") continue;
      this.#held.push({ ref, token: turn.token, claimed });
      if (leaseMs === longLeaseMs) add(this.told.holders, nameOf(ref), turn.token);
    }
  }

  async #finish(session: Session): Promise<void> {
    const held = shuffled(this.#held).slice(0, 1 + Math.floor(Math.random() * 5));
    if (held.length === 0) return;
    const turns = held.map((one) => {
      one.finish ??= this.#inventor.makeUp(one);
      return one.finish;
    });
    const answer = await session.call("finish_turns", { ...terms, leaseMs: longLeaseMs, turns });
    for (const [index, told] of answer.turns.entries()) {
      const one = held[index];
      if (one !== undefined) this.#hear(one, told);
    }
    const sentAgain = (one: Held) => Math.random() < 0.2 && held.includes(one);
    this.#held = this.#held.filter((one) => !held.includes(one) || sentAgain(one));
  }

  #hear({ ref, token, finish }: Held, told: wire.FinishAnswer): void {
    this.#heard(`${ref.path === undefined ? "run" : "branch"} ${told.outcome}`);
    if (told.outcome === "raised") this.told.errors.push(told);
    if (told.outcome !== "finished" && told.outcome !== "deferred") return;
    const { runId, path } = ref;
    add(this.told.finished, nameOf(ref), token);
    for (const { path: place, kind } of recordsOf(finish)) {
      if (told.outcome === "finished") add(this.told.recorded, runId, place);
      else if (kind === "step") add(this.told.dropped, runId, place); // what a wait takes, its next turn may take
    }
    if (Math.random() < 0.1) return; // its dispatches are lost
    if (told.isReady) this.#dispatched.push({ runId, turn: told.turn });
    if (told.continues != null) this.#dispatched.push({ runId, turn: told.continues });
    if (path !== undefined && finish !== undefined && "attempt" in finish)
      this.#dispatched.push({ ...ref, turn: told.turn });
    for (const branch of told.branches ?? []) this.#dispatched.push({ runId, ...toRef(branch) });
  }

  async #renew(session: Session): Promise<void> {
    const turns = shuffled(this.#held)
      .slice(0, 6)
      .map(({ ref: { runId, path, occurrence }, token }) => ({ runId, path, occurrence, token }));
    if (turns.length > 0) await session.call("renew_leases", { leaseMs: longLeaseMs, turns });
  }

  async #signal(session: Session): Promise<void> {
    const dedupeId = Math.random() < 0.5 ? `d${Math.floor(Math.random() * 5)}` : undefined;
    const call = { runId: this.#anyRun(), signalId: randomUUID(), name: "address", encodedPayload: "0" };
    const answer = await session.call("send_signal", { ...call, dedupeId, armed: armed() });
    if (answer.outcome === "sent" && answer.turn != null)
      this.#dispatched.push({ runId: call.runId, turn: answer.turn });
  }

  async #answer(session: Session): Promise<void> {
    const runId = this.#anyRun();
    const place = at(pick(this.#inventor.callbacks.slice(-6)) ?? "");
    const call = { runId, epoch: 0, ...place, outcome: "resolved", value: pick(["1", "2"]), armed: armed() };
    const answer = await session.call("answer_callback", call);
    if (answer.outcome === "answered" && answer.turn != null) this.#dispatched.push({ runId, turn: answer.turn });
  }

  async #read(session: Session): Promise<void> {
    const runId = this.#anyRun();
    await session.call("get_run", { runId });
    await session.call("get_history", { runId });
    const { runs } = await session.call("list_runs", { limit: 10 });
    if (runs.some((run) => run === null)) this.told.errors.push(new Error("a list holds a run that is not there"));
  }

  #takeRefs(count: number): readonly Ref[] {
    const refs = shuffled(this.#dispatched).slice(0, count);
    const delivered = new Set(refs.filter(() => Math.random() < 0.8));
    this.#dispatched = this.#dispatched.filter((ref) => !delivered.has(ref)).slice(-200);
    return refs;
  }

  #anyRun(): string {
    return pick(this.#runs.slice(-this.#names)) ?? "";
  }

  #heard(outcome: string): void {
    this.told.outcomes.set(outcome, (this.told.outcomes.get(outcome) ?? 0) + 1);
  }
}

function nameOf({ runId, path = "", turn }: Ref): string {
  return `${runId} ${path} ${turn}`;
}

function recordsOf(finish: Held["finish"]): readonly { readonly path: string; readonly kind: wire.RecordKind }[] {
  if (finish === undefined) return [];
  if ("path" in finish) return finish.record === undefined ? [] : [{ path: finish.path, kind: "step" }];
  return finish.records ?? [];
}

function toRef({ path, occurrence, turn }: wire.BranchRef): wire.BranchRef {
  return { path, occurrence, turn };
}

function add(sets: Map<string, Set<string>>, key: string, member: string): void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(member));
}
