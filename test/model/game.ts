/**
 * Turns wishes into calls, one after the other, and has the reference model say what each call should answer and what
 * should be found in the tables afterwards. Nothing is sent here: a whole sequence is known before it is played.
 */
import { motionMinute } from "../../src/core/motion.ts";
import type { ClaimTurn, FinishBranch, FinishRun, StartCall } from "../../src/postgres/wire.ts";
import { type ClaimTerms, claim, claimable } from "./claims.ts";
import type {
  AnswerWish,
  ClaimItem,
  ClaimWish,
  FinishItem,
  FinishWish,
  ListWish,
  SignalWish,
  StartWish,
  Wish,
} from "./commands.ts";
import { type Facts, factsOf, nameOf } from "./facts.ts";
import { finish } from "./finishes.ts";
import { answerCallback, type Called, findByUserId, signal, start } from "./mail.ts";
import { anyOf, inAnyOrder, text } from "./match.ts";
import { planBranch, planRun } from "./plan.ts";
import { list, move, movesFor, nextDueAt, prune, renew, voidLeases } from "./scheduler.ts";
import {
  armedFor,
  aWorld,
  callMs,
  day,
  earliest,
  findRow,
  findRun,
  freshToken,
  type Holder,
  isOver,
  isStill,
  type Listing,
  leaseMs,
  maxClaims,
  type Run,
  type World,
} from "./world.ts";

/** One command as it is played, and what is expected of it. */
export interface Step {
  readonly now: number;
  /** Of `layover`, or one of the test's own hands: `pause`, `resume`, `cancel`. */
  readonly fn: string;
  readonly p: unknown;
  /** Of the signal that may be stored. */
  readonly number: number;
  readonly wasVoided: boolean;
  readonly words: string;
  readonly expected: unknown;
  readonly facts: Facts;
}

const versions = { all: { order: [1, 2] }, some: { order: [1] }, nothing: {} };
const carriedBy = {
  all: () => true,
  some: ({ version }: Run) => version === 1,
  nothing: () => false,
};
const deployments = {
  ours: { environment: "production", endpoint: "here/app" },
  another: { environment: "production", endpoint: "there/app" },
};
const tooLate = { sqlState: "LO002" };
const keepMs = 30 * day;
const keepFailedMs = 90 * day;

export class Game {
  readonly steps: Step[] = [];
  #world: World;

  constructor(name: string, ids: readonly string[]) {
    this.#world = aWorld(name, ids);
  }

  get ids(): readonly string[] {
    return this.#world.ids;
  }

  make(wish: Wish): void {
    switch (wish.kind) {
      case "start":
        return this.#start(wish);
      case "claim":
        return this.#claim(wish);
      case "finish":
        return this.#finish(wish);
      case "turn":
        return this.#turn(wish.index, wish.finish);
      case "signal":
        return this.#signal(wish);
      case "answer":
        return this.#answer(wish);
      case "renew":
        return this.#renew(wish.items, wish.isElsewhere, wish.isLate);
      case "list":
        return this.#list(wish);
      case "move":
        return this.#move(wish.isElsewhere, wish.isLate);
      case "tick":
        this.#list({
          kind: "list",
          isElsewhere: wish.isElsewhere,
          isNew: false,
          carries: "all",
          limit: 100,
          isNextPage: false,
        });
        return this.#move(false, false);
      case "void":
        return this.#void(this.#namespace(wish.isElsewhere));
      case "prune":
        return this.#prune(this.#namespace(wish.isElsewhere));
      case "advance":
        return this.#advance(wish.ms, wish.offset);
      default:
        return this.#hand(wish.kind, wish.run);
    }
  }

  #start(wish: StartWish): void {
    const { isBare, userId, delayMs, timeoutMs } = wish;
    const namespace = this.#namespace(wish.isElsewhere);
    const runId = this.#world.ids[wish.run] ?? "";
    const call: StartCall = {
      runId,
      workflow: "order",
      version: wish.isCarried ? 1 : 2,
      encodedInput: wish.input,
      ...(userId !== undefined && { id: userId }),
      ...(delayMs > 0 && { delayMs }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
    const readyAt = this.#world.now + delayMs;
    const armed = isBare
      ? undefined
      : armedFor(this.#world, timeoutMs === undefined ? [readyAt] : [readyAt, readyAt + timeoutMs]);
    const words = `start ${this.#letter(runId)}${wish.isElsewhere ? " in the other namespace" : ""}: ${text(call)}`;
    this.#call(
      "start_run",
      { ...call, namespace, ...(armed !== undefined && { armed }) },
      words,
      wish.isLate,
      (world) => start(world, { namespace, armed }, call),
    );
  }

  #claim(wish: ClaimWish): void {
    const world = this.#world;
    const asked = wish.items.flatMap((item) => this.#toClaim(item));
    const [first] = asked;
    if (first === undefined) return;
    const own = world.runs.find(({ id }) => id === first.runId)?.namespace;
    const namespace = this.#namespace(wish.isElsewhere, own);
    const deployment = deployments[world.environments.has(namespace) ? wish.environment : "ours"];
    const terms = { namespace, environment: deployment.endpoint, carries: carriedBy[wish.carries] };
    const p = { namespace, ...deployment, versions: versions[wish.carries], leaseMs, maxClaims, turns: asked };
    const words = `claim${wish.isElsewhere ? " (wrong namespace)" : ""}${wish.carries === "all" ? "" : ` carrying ${wish.carries}`}${
      wish.environment === "ours" ? "" : " from a copy"
    }: ${asked.map((turn) => this.#describeClaim(turn)).join("; ")}`;
    this.#call("claim_turns", p, words, wish.isLate, () => {
      const turns = inLockOrder(asked, (turn) => claim(this.#world, terms, turn));
      return { answer: { now: world.now, turns }, hasEffect: true };
    });
  }

  #toClaim(item: ClaimItem): ClaimTurn[] {
    const world = this.#world;
    const wanted = this.#wanted(item);
    if (wanted === undefined) return [];
    const { run, row } = wanted;
    const { turn, lease } = row ?? run;
    const token = item.token === "again" ? lease?.token : undefined;
    const shift = token === undefined ? { right: 0, stale: -1, future: 1 }[item.turn] : 0;
    const alone = { "as needed": lease !== undefined, always: true, never: false }[item.alone];
    const length = row?.demandedAfter ?? run.history.length;
    const have = {
      nothing: undefined,
      all: { epoch: 0, position: length },
      "a part": { epoch: 0, position: Math.floor(length / 2), rowsThrough: Math.floor(length / 2) },
      "more than there is": { epoch: 0, position: length + 1 },
      "another epoch": { epoch: 1, position: 0 },
    }[item.have];
    return [
      {
        runId: run.id,
        turn: turn + shift,
        token: token ?? freshToken(world),
        alone,
        ...(row !== undefined && { path: row.path, occurrence: row.occurrence }),
        ...(have !== undefined && { have }),
      },
    ];
  }

  #wanted({ of, index }: ClaimItem) {
    const { runs } = this.#world;
    const all = runs.map((run) => ({ run, row: undefined }));
    const branches = runs.flatMap((run) =>
      run.rows.filter(({ kind }) => kind === "branch").map((row) => ({ run, row })),
    );
    const ready = claimable(this.#world);
    return (
      { claimable: pick(ready, index), run: pick(all, index), branch: pick(branches, index) }[of] ?? pick(all, index)
    );
  }

  #finish({ items, isElsewhere, isLate }: FinishWish): void {
    const standing = this.#standing();
    const made = items.flatMap((item) => {
      const holder = pick(item.of === "standing" && standing.length > 0 ? standing : this.#world.holders, item.index);
      return holder === undefined ? [] : this.#toFinish(holder, item);
    });
    this.#send(made, isElsewhere, isLate);
  }

  #turn(index: number, item: FinishItem): void {
    const wanted = pick(claimable(this.#world), index);
    if (wanted === undefined) return;
    this.#claim({
      kind: "claim",
      items: [{ of: "claimable", index, turn: "right", alone: "as needed", token: "fresh", have: "nothing" }],
      isElsewhere: false,
      carries: "all",
      environment: "ours",
      isLate: false,
    });
    const holder = this.#world.holders.at(-1);
    if (holder?.runId === wanted.run.id && this.#standing().includes(holder))
      this.#send(this.#toFinish(holder, item), false, false);
  }

  #standing(): Holder[] {
    return this.#world.holders.filter((holder) => this.#leaseOf(holder)?.token === holder.token);
  }

  #leaseOf(holder: Holder) {
    const run = findRun(this.#world, holder.runId, holder.namespace);
    return run === undefined ? undefined : holder.of === "run" ? run.lease : findRow(run, holder)?.lease;
  }

  #toFinish(holder: Holder, item: FinishItem): Finish[] {
    const world = this.#world;
    const run = findRun(world, holder.runId, holder.namespace);
    if (run === undefined) return [];
    const said = world.sent.get(holder.token);
    if (said !== undefined && item.isRepeat) return [{ holder, ...(JSON.parse(said) as Omit<Finish, "holder">) }];
    const { turn, deadlines } =
      holder.of === "run" ? planRun(world, run, holder, item) : planBranch(world, holder, item);
    return [{ holder, turn, deadlines, isNonsense: item.isNonsense }];
  }

  #send(made: readonly Finish[], isElsewhere: boolean, isLate: boolean): void {
    const [first] = made;
    if (first === undefined) return;
    const { now } = this.#world;
    const armed = armedFor(
      this.#world,
      made.flatMap(({ deadlines }) => deadlines),
    );
    const namespace = this.#namespace(isElsewhere, first.holder.namespace);
    const terms = { namespace, environment: deployments.ours.endpoint, carries: carriedBy.all };
    const turns = made.map(({ turn, isNonsense }) => {
      const whole = { ...turn, armed };
      return { whole, sent: isNonsense ? spoil(whole) : whole, isNonsense };
    });
    for (const finish of made)
      this.#world.sent.set(finish.holder.token, JSON.stringify({ ...finish, holder: undefined }));
    const p = {
      namespace,
      ...deployments.ours,
      versions: versions.all,
      leaseMs,
      maxClaims,
      turns: turns.map(({ sent }) => sent),
    };
    const words = `finish${isElsewhere ? " (wrong namespace)" : ""}: ${made.map((one) => this.#describeFinish(one)).join("; ")}`;
    this.#call("finish_turns", p, words, isLate, () => {
      let hasRaised = false;
      const order = turns.map(({ whole, sent, isNonsense }) => ({
        ...whole,
        whole,
        isSpoilt: isNonsense && sent !== whole,
      }));
      const answers = inLockOrder(order, ({ whole, isSpoilt }) => {
        if (!isSpoilt || !this.#wouldRaise(terms, whole)) return finish(this.#world, terms, whole);
        hasRaised = true;
        return { outcome: "raised", sqlState: "23502" };
      });
      const isAlone = turns.length === 1;
      return { answer: hasRaised && isAlone ? { sqlState: "23502" } : { now, turns: answers }, hasEffect: true };
    });
  }

  /** A record without a value that it needs cannot be stored; who may not store any is refused as always. */
  #wouldRaise({ namespace }: ClaimTerms, turn: FinishRun | FinishBranch): boolean {
    const run = findRun(this.#world, turn.runId, namespace);
    if (run === undefined) return false;
    if ("path" in turn) return findRow(run, turn)?.lease?.token === turn.token;
    return run.lease?.token === turn.token && turn.position === run.history.length;
  }

  #signal(wish: SignalWish): void {
    const world = this.#world;
    const run = pick(world.runs, wish.run);
    if (run === undefined) return;
    const namespace = this.#namespace(wish.isElsewhere, run.namespace);
    const last = wish.isRepeat ? world.signalId : undefined;
    const number = ++world.numbers.signal;
    const name = last?.name ?? wish.name;
    const runId = last?.runId ?? run.id;
    const signalId = last?.id ?? `20000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
    world.signalId = { id: signalId, runId, name };
    const { userId } = run;
    const isById = wish.byUserId && userId !== undefined && last === undefined;
    const key = isById ? { workflow: "order", id: userId } : { runId };
    const armed = wish.isBare ? undefined : armedFor(world, []);
    const { dedupeId } = wish;
    const call = {
      ...key,
      signalId,
      name,
      encodedPayload: `payload ${number}`,
      ...(dedupeId !== undefined && { dedupeId }),
    };
    const target = isById ? findByUserId(world, namespace, "order", userId)?.id : runId;
    const words = `signal ${this.#letter(target)}${wish.isElsewhere ? " (wrong namespace)" : ""}: ${text(call)}`;
    this.#call(
      "send_signal",
      { ...call, namespace, ...(armed !== undefined && { armed }) },
      words,
      wish.isLate,
      (now) => signal(now, { namespace, armed }, call, number),
      number,
    );
  }

  #answer(wish: AnswerWish): void {
    const world = this.#world;
    const waits = world.runs.flatMap((run) =>
      run.rows.filter(({ kind }) => kind === "callback").map((row) => ({ run, row })),
    );
    const answered = world.runs.flatMap((run) => run.answers.map((row) => ({ run, row })));
    const chosen = { waiting: pick(waits, wish.index), answered: pick(answered, wish.index), next: undefined }[
      wish.which
    ];
    const run = chosen?.run ?? pick(world.runs, wish.run);
    if (run === undefined) return;
    const namespace = this.#namespace(wish.isElsewhere, run.namespace);
    const { path, occurrence } = chosen?.row ?? { path: "c", occurrence: 1 + (run.occurrences.get("c") ?? 0) };
    const { outcome, value } = wish;
    const call = { runId: run.id, epoch: wish.isOtherEpoch ? 1 : 0, path, occurrence, outcome, value };
    const armed = armedFor(world, []);
    const words = `answer ${this.#letter(run.id)}${wish.isElsewhere ? " (wrong namespace)" : ""}: ${text(call)}`;
    this.#call("answer_callback", { ...call, namespace, armed }, words, wish.isLate, (now) =>
      answerCallback(now, { namespace, armed }, call),
    );
  }

  #renew(items: readonly { of: "standing" | "any"; index: number }[], isElsewhere: boolean, isLate: boolean): void {
    const world = this.#world;
    const standing = this.#standing();
    const holders = items.flatMap(({ of, index }) => pick(of === "standing" ? standing : world.holders, index) ?? []);
    const [first] = holders;
    if (first === undefined) return;
    const namespace = this.#namespace(isElsewhere, first.namespace);
    const turns = holders.map((holder) => {
      const { runId, token } = holder;
      return holder.of === "run"
        ? { runId, token }
        : { runId, token, path: holder.path, occurrence: holder.occurrence };
    });
    const words = `renew${isElsewhere ? " (wrong namespace)" : ""}: ${holders.map((holder) => this.#describeHolder(holder)).join("; ")}`;
    this.#call("renew_leases", { namespace, leaseMs, turns }, words, isLate, (now) => ({
      answer: { now: now.now, turns: inLockOrder(turns, (turn) => renew(now, namespace, turn)) },
      hasEffect: true,
    }));
  }

  #list(wish: ListWish): void {
    const world = this.#world;
    const page = wish.isNextPage ? world.listing : undefined;
    const last = page?.runs.at(-1);
    const namespace = page?.namespace ?? this.#namespace(wish.isElsewhere);
    const isNew = page?.isNew ?? wish.isNew;
    const limit = page?.limit ?? wish.limit;
    const after = last === undefined ? undefined : { dueAt: last.dueAt, runId: last.runId };
    const listing = list(world, { namespace, isNew, limit, carries: carriedBy[wish.carries], after });
    world.listing = listing;
    const words = `list what is due${isNew ? " to a new deployment" : ""}${wish.carries === "all" ? "" : " carrying some"}${
      after === undefined ? "" : ", next page"
    }`;
    const p = { namespace, versions: versions[wish.carries], limit, isNew, ...(after !== undefined && { after }) };
    const answer = { now: world.now, runs: expectedRuns(listing), nextDueAt: nextDueAt(world, namespace) };
    this.#step("list_due", p, words, answer);
  }

  #move(isElsewhere: boolean, isLate: boolean): void {
    const { listing } = this.#world;
    if (listing === undefined || listing.runs.length === 0) return;
    const namespace = this.#namespace(isElsewhere, listing.namespace);
    const moves = movesFor(listing);
    const words = `move what was seen due: ${text(moves.map(({ runId, ...one }) => ({ run: this.#letter(runId), ...one })))}`;
    const soonAt = motionMinute(this.#world.now);
    this.#call("move_due", { namespace, moves, soonAt }, words, isLate, (world) => ({
      answer: { now: world.now, moved: move(world, namespace, moves, soonAt) },
      hasEffect: true,
    }));
  }

  #void(namespace: string): void {
    voidLeases(this.#world, namespace);
    this.#step("void_leases", { namespace }, "void all leases", { outcome: "voided" });
  }

  #prune(namespace: string): void {
    const pruned = prune(this.#world, namespace, keepMs, keepFailedMs);
    this.#step("prune_runs", { namespace, keepMs, keepFailedMs, limit: 100 }, "prune", { pruned });
  }

  /** No verbs do this yet. */
  #hand(kind: "pause" | "resume" | "cancel", index: number): void {
    const run = pick(this.#world.runs, index);
    if (run === undefined || isOver(run) || run.isPaused !== (kind === "resume")) return;
    if (kind === "pause") Object.assign(run, { isPaused: true, dueAt: undefined });
    if (kind === "resume") run.isPaused = false;
    if (kind === "cancel") Object.assign(run, { isCancelAsked: true, readyAt: earliest(run.readyAt, this.#world.now) });
    if (kind !== "pause" && !isStill(run)) run.dueAt = this.#world.now;
    this.#step(kind, { runId: run.id }, `${kind} ${this.#letter(run.id)} by hand`, null);
  }

  #advance(ms: number | undefined, offset: number): void {
    const world = this.#world;
    const instants = world.runs.flatMap((run) => [
      ...[run.lease?.until, run.readyAt, run.dueAt, run.timeoutAt],
      ...run.rows.flatMap(({ lease, readyAt, until }) => [lease?.until, readyAt, until]),
    ]);
    const next = earliest(...instants.filter((at) => at !== undefined && at + offset > world.now));
    world.now = ms !== undefined || next === undefined ? world.now + (ms ?? 1) : next + offset;
  }

  /** A call that is carried out after its time changes nothing; it may say so, or that there was nothing to do. */
  #call(fn: string, p: object, words: string, isLate: boolean, act: (world: World) => Called, number = 0): void {
    const before = isLate ? structuredClone(this.#world) : undefined;
    const { answer, hasEffect } = act(this.#world);
    if (before !== undefined) this.#world = before;
    const notAfter = this.#world.now + (isLate ? -1 : number % 2 === 0 ? callMs : 0);
    const mayAnswer = !hasEffect || "sqlState" in answer;
    const expected = isLate ? anyOf(tooLate, ...(mayAnswer ? [answer] : [])) : answer;
    this.#step(fn, { ...p, notAfter }, isLate ? `too late: ${words}` : words, expected, number);
  }

  #step(fn: string, p: unknown, words: string, expected: unknown, number = 0): void {
    const { now, wasVoided } = this.#world;
    this.steps.push({ now, fn, p, number, wasVoided, words, expected, facts: factsOf(this.#world) });
  }

  #namespace(isElsewhere: boolean, own = this.#world.namespaces[0]): string {
    const [one, two] = this.#world.namespaces;
    return isElsewhere ? (own === one ? two : one) : own;
  }

  #letter(runId: string | undefined): string {
    return "ABC"[this.#world.ids.indexOf(runId ?? "")] ?? "nobody";
  }

  #describeClaim({ runId, turn, token, alone, path, occurrence = 1, have }: ClaimTurn): string {
    const place = path === undefined ? "" : ` ${nameOf({ path, occurrence })}`;
    const known = have === undefined ? "" : `, knowing ${have.epoch}/${have.position}`;
    return `turn ${turn} of ${this.#letter(runId)}${place}${alone ? " alone" : ""} as ${token.slice(-4)}${known}`;
  }

  #describeHolder(holder: Holder): string {
    const place = holder.of === "run" ? "" : ` ${nameOf(holder)}`;
    return `turn ${holder.turn} of ${this.#letter(holder.runId)}${place} by ${holder.token.slice(-4)}`;
  }

  #describeFinish({ holder, turn, isNonsense }: Finish): string {
    const { runId, token, ...rest } = turn;
    return `${this.#describeHolder(holder)}${isNonsense ? ", spoilt" : ""}: ${text(rest)}`;
  }
}

interface Finish {
  readonly holder: Holder;
  readonly turn: Omit<FinishRun, "armed"> | Omit<FinishBranch, "armed">;
  readonly deadlines: readonly number[];
  readonly isNonsense: boolean;
}

/** Takes a value away that must be there; answers the same where there is none to take. */
function spoil<Turn extends FinishRun | FinishBranch>(turn: Turn): object {
  if ("record" in turn && turn.record !== undefined) return { ...turn, record: { ...turn.record, isFailure: null } };
  if (!("records" in turn) || turn.records === undefined) return turn;
  return { ...turn, records: turn.records.map((record) => ({ ...record, kind: null })) };
}

function pick<Item>(items: readonly Item[], index: number): Item | undefined {
  return items[index % Math.max(1, items.length)];
}

/** Carries items out in the order in which locks are taken; answers in the order of the call. */
function inLockOrder<
  Item extends { readonly runId: string; readonly path?: string; readonly occurrence?: number },
  Result,
>(items: readonly Item[], act: (item: Item) => Result): Result[] {
  const order = items.map((item, place) => ({ item, place }));
  order.sort((one, other) => compare(keyOf(one.item), keyOf(other.item)) || one.place - other.place);
  const results = new Map(order.map(({ item, place }) => [place, act(item)]));
  return items.flatMap((_, place) => results.get(place) ?? []);
}

function keyOf({ runId, path = "", occurrence = 0 }: { runId: string; path?: string; occurrence?: number }): string {
  return `${runId} ${path} ${occurrence}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function expectedRuns({ runs }: Listing): unknown[] {
  return runs.map(({ branches, ...run }) => ({
    ...run,
    branches: branches.length === 0 ? null : inAnyOrder(branches),
  }));
}
