/** Wishes of those who carry turns out: claims and finishes. */
import type { ClaimTurn, FinishBranch, FinishRun } from "../../src/postgres/wire.ts";
import { countFitting } from "./budgets.ts";
import { claim, claimable } from "./claims.ts";
import { nameOf } from "./facts.ts";
import { finish, hasCome, isEndingRefused, settleAnnouncement } from "./finishes.ts";
import { begin, describeHolder, standingOf } from "./make-leases.ts";
import { wrong } from "./make-visits.ts";
import { text } from "./match.ts";
import { planBranch, planRun } from "./plan.ts";
import { armedFor, findRow, findRun, freshToken, groupSizeOf, isStill } from "./rules.ts";
import { inLockOrder, pick, type Script } from "./script.ts";
import type {
  BatchWish,
  ClaimItem,
  ClaimWish,
  CrashWish,
  FinishItem,
  FinishWish,
  StartWish,
  TurnWish,
  Wish,
} from "./wishes.ts";
import { type Holder, leaseMs, maxBeginnings, maxClaims, type Row, type Run, type World } from "./world.ts";

const aStart: Omit<StartWish, "run"> = {
  kind: "start",
  userId: undefined,
  input: "x",
  isCarried: true,
  delayMs: 0,
  timeoutMs: undefined,
  signal: undefined,
  isAhead: false,
  isElsewhere: false,
  isBare: false,
  isLate: false,
};
const usualClaim: Omit<ClaimItem, "index"> = {
  of: "claimable",
  turn: "right",
  alone: "as needed",
  token: "fresh",
  have: "nothing",
};
const usualClaims: Omit<ClaimWish, "items"> = {
  kind: "claim",
  by: undefined,
  isElsewhere: false,
  carries: "all",
  environment: "ours",
  begins: true,
  budgetBytes: undefined,
  isLate: false,
};

/** What a deployment carries: of the one workflow, these versions. */
export const versions = { all: { order: [1, 2] }, some: { order: [1] }, nothing: {} };
export const carriedBy = {
  all: () => true,
  some: ({ version }: Run) => version === 1,
  nothing: () => false,
};
const deployments = {
  ours: { environment: "production", endpoint: "here/app" },
  another: { environment: "production", endpoint: "there/app" },
};

export function makeClaim(script: Script, wish: ClaimWish): void {
  const { world } = script;
  const asked = wish.items.flatMap((item) => toClaim(world, item));
  const [first] = asked;
  if (first === undefined) return;
  const own = world.runs.find(({ id }) => id === first.runId)?.namespace;
  const namespace = script.namespace(wish.isElsewhere, own);
  const from = world.environments.has(namespace) ? wish.environment : "ours"; // the first to ask is at home
  const deployment = deployments[from];
  const { by: id, budgetBytes } = wish;
  const carries = carriedBy[wish.carries];
  const terms = { namespace, environment: deployment.endpoint, carries, by: id, budgetBytes };
  const p = {
    namespace,
    ...deployment,
    versions: versions[wish.carries],
    ...(id !== undefined && { deployment: id }),
    leaseMs,
    maxClaims,
    maxBeginnings,
    ...(budgetBytes !== undefined && { budgetBytes }),
    turns: asked,
  };
  const by = `${wrong(wish.isElsewhere)}${wish.carries === "all" ? "" : ` carrying ${wish.carries}`}${from === "ours" ? "" : " from a copy"}${id === undefined ? "" : ` by ${id}`}`;
  const within = budgetBytes === undefined ? "" : ` within ${budgetBytes} bytes`;
  const words = `claim${by}${within}: ${asked.map((turn) => describeClaim(script, turn)).join("; ")}`;
  script.call("claim_turns", p, words, wish.isLate, (now) => {
    const turns = budgetBytes === undefined ? asked.length : countFitting(now, asked, budgetBytes);
    const answers = inLockOrder(asked.slice(0, turns), (turn) => claim(now, { ...terms, turns }, turn));
    const left = asked.slice(turns).map(() => ({ outcome: "later" }));
    return { answer: { now: now.now, turns: [...answers, ...left] }, hasEffect: true };
  });
  if (wish.begins) begin(script, asked, namespace);
}

function toClaim(world: World, item: ClaimItem): ClaimTurn[] {
  const wanted = wantedBy(world, item);
  if (wanted === undefined) return [];
  const { run, row } = wanted;
  const { turn, lease } = row ?? run;
  const needed = groupSizeOf(row ?? run);
  const token = item.token === "again" ? lease?.token : undefined;
  const shift = token === undefined ? { right: 0, stale: -1, future: 1 }[item.turn] : 0;
  const length = row?.demandedAfter ?? run.history.length;
  const half = Math.floor(length / 2);
  const have = {
    nothing: undefined,
    all: { epoch: 0, position: length },
    "a part": { epoch: 0, position: half, rowsThrough: half },
    "more than there is": { epoch: 0, position: length + 1 },
    "another epoch": { epoch: 1, position: 0 },
    "all, told": { epoch: 0, position: length, version: run.version },
    "another version": { epoch: 0, position: length, version: run.version + 1 },
  }[item.have];
  return [
    {
      runId: run.id,
      turn: turn + shift,
      token: token ?? freshToken(world),
      alone: { "as needed": needed === 1, always: true, never: false, sixteen: false }[item.alone],
      ...(item.alone === "sixteen" && { groupSize: 16 }),
      ...(item.alone === "as needed" && needed !== null && needed > 1 && { groupSize: needed }),
      ...(row !== undefined && { path: row.path, occurrence: row.occurrence }),
      ...(have !== undefined && { have }),
    },
  ];
}

function wantedBy(world: World, { of, index }: ClaimItem): { run: Run; row: Row | undefined } | undefined {
  const all = world.runs.map((run) => ({ run, row: undefined }));
  const branches = world.runs.flatMap((run) =>
    run.rows.filter(({ kind }) => kind === "branch").map((row) => ({ run, row })),
  );
  const losers = branches.filter(({ row }) => row.isReleased);
  const branch = pick(losers, index) ?? pick(branches, index);
  const chosen = { claimable: pick(claimable(world), index), run: undefined, branch }[of];
  return chosen ?? pick(all, index);
}

export function makeFinish(script: Script, { items, isElsewhere, isLate }: FinishWish): void {
  const { world } = script;
  const standing = standingOf(world);
  const used = new Set<Holder>();
  const made = items.flatMap((item) => {
    const holder = pick(item.of === "standing" && standing.length > 0 ? standing : world.holders, item.index);
    if (holder === undefined || (used.has(holder) && !item.isRepeat)) return [];
    used.add(holder);
    return toFinish(world, holder, item);
  });
  send(script, made, isElsewhere, isLate);
}

/** A claim and its finish, and what happens between them. */
export function makeTurn(
  script: Script,
  { index, meanwhile, finish: item }: TurnWish,
  make: (wish: Wish) => void,
): void {
  const holder = claimAsUsual(script, index);
  if (holder === undefined) return;
  for (const wish of meanwhile) make(wish);
  send(script, toFinish(script.world, holder, item), false, false);
}

export function makeBatch(
  script: Script,
  { starts, budgetBytes, meanwhile, finishes }: BatchWish,
  make: (wish: Wish) => void,
): void {
  if (starts) for (const run of script.world.ids.keys()) make({ ...aStart, run });
  const items = claimable(script.world).map((_, index) => ({ ...usualClaim, index }));
  if (items.length > 0) makeClaim(script, { ...usualClaims, budgetBytes, items });
  for (const wish of meanwhile) make(wish);
  const { world } = script; // by now: what came too late took the last one back
  const made = standingOf(world).flatMap((holder, index) => {
    const item = pick(finishes, index);
    return item === undefined ? [] : toFinish(world, holder, item);
  });
  send(script, made, false, false);
}

/** Claims what may be claimed; the lease runs out; and again. */
export function makeCrash(script: Script, { index, times }: CrashWish): void {
  const { world } = script;
  const wanted = pick(claimable(world), index);
  for (let time = 0; wanted !== undefined && time < times; time += 1) {
    const isSame = ({ run, row }: typeof wanted) => run === wanted.run && row === wanted.row;
    const place = claimable(world).findIndex(isSame);
    if (place < 0) return;
    claimAsUsual(script, place);
    const { lease } = wanted.row ?? wanted.run;
    world.now = Math.max(world.now, lease?.until ?? 0);
  }
}

/** Answers who holds the lease then. */
function claimAsUsual(script: Script, index: number): Holder | undefined {
  const wanted = pick(claimable(script.world), index);
  if (wanted === undefined) return undefined;
  makeClaim(script, { ...usualClaims, items: [{ ...usualClaim, index }] });
  const holder = standingOf(script.world).at(-1);
  return holder?.runId === wanted.run.id ? holder : undefined;
}

interface Finish {
  readonly holder: Holder;
  readonly turn: Omit<FinishRun, "armed"> | Omit<FinishBranch, "armed">;
  readonly wakeInstants: readonly number[];
  readonly isSpoilt: boolean;
}

function toFinish(world: World, holder: Holder, item: FinishItem): Finish[] {
  const run = findRun(world, holder.runId, holder.namespace);
  if (run === undefined) return [];
  const said = item.isRepeat ? world.sent.get(holder.token) : undefined;
  if (said !== undefined) return [{ holder, ...(JSON.parse(said) as Omit<Finish, "holder">) }];
  const made = holder.of === "run" ? planRun(world, run, holder, item) : planBranch(world, holder, item);
  return [{ holder, ...made, isSpoilt: item.isSpoilt && ("record" in made.turn || "records" in made.turn) }];
}

/** Whether a run goes on at once that is paused, or was so when it was finished, is nobody's concern: nobody asks for it. */
function withoutClaim(world: World, finish: Finish): Finish {
  const { holder, turn } = finish;
  const run = findRun(world, holder.runId, holder.namespace);
  if (run === undefined || !("claim" in turn)) return finish;
  const wasStill = run.lastFinish?.token === holder.token && run.lastFinish.answer["isReady"] === undefined;
  if (!isStill(run) && !wasStill) return finish;
  const { claim: _, ...rest } = turn;
  return { ...finish, turn: rest };
}

function send(script: Script, wanted: readonly Finish[], isElsewhere: boolean, isLate: boolean): void {
  const { world } = script;
  const made = wanted.map((finish) => withoutClaim(world, finish));
  const [first] = made;
  if (first === undefined) return;
  for (const { holder, ...rest } of made) world.sent.set(holder.token, JSON.stringify(rest));
  const namespace = script.namespace(isElsewhere, first.holder.namespace);
  const terms = { namespace, environment: deployments.ours.endpoint, carries: carriedBy.all, turns: made.length };
  const armed = armedFor(
    world,
    made.flatMap((one) => one.wakeInstants),
  );
  const turns = made.map(({ turn, isSpoilt }) => ({ isSpoilt, turn: { ...turn, armed } }));
  const p = {
    namespace,
    ...deployments.ours,
    versions: versions.all,
    leaseMs,
    maxClaims,
    maxBeginnings,
    turns: turns.map(({ turn, isSpoilt }) => (isSpoilt ? spoil(turn) : turn)),
  };
  const words = `finish${wrong(isElsewhere)}: ${made.map((one) => describeFinish(script, one)).join("; ")}`;
  script.call("finish_turns", p, words, isLate, (now) => {
    let hasRaised = false;
    const answers = inLockOrder(
      turns.map((one) => ({ ...one.turn, ...one })),
      ({ turn, isSpoilt }) => {
        if (!isSpoilt || !mayRecord(now, namespace, turn)) return finish(now, terms, turn);
        hasRaised = true;
        return { outcome: "raised", sqlState: "23502" };
      },
    );
    const isAlone = turns.length === 1;
    return { answer: hasRaised && isAlone ? { sqlState: "23502" } : { now: now.now, turns: answers }, hasEffect: true };
  });
}

/** Takes a value away that must be there, so that the finish raises as soon as it is to be stored. */
function spoil(turn: FinishRun | FinishBranch): object {
  if ("record" in turn && turn.record !== undefined) return { ...turn, record: { ...turn.record, isFailure: null } };
  if ("records" in turn) return { ...turn, records: turn.records?.map((record) => ({ ...record, kind: null })) };
  return turn;
}

/** Whoever may not store any record does not raise. */
function mayRecord(world: World, namespace: string, turn: FinishRun | FinishBranch): boolean {
  const run = findRun(world, turn.runId, namespace);
  if (run === undefined) return false;
  if ("path" in turn) {
    return findRow(run, turn)?.lease?.token === turn.token && settleAnnouncement(run, turn) === turn; // which has another record
  }
  if (run.lease?.token !== turn.token || turn.position !== run.history.length || hasCome(run, turn)) return false;
  return !isEndingRefused(run, turn, world.now) || (turn.records?.length ?? 0) > 1;
}

function describeClaim(script: Script, asked: ClaimTurn): string {
  const { runId, turn, token, alone, groupSize, path, occurrence = 1, have } = asked;
  const group = groupSize === undefined ? "" : ` in a group of ${groupSize}`;
  const place = path === undefined ? "" : ` ${nameOf({ path, occurrence })}`;
  const known = have === undefined ? "" : `, knowing ${text(have)}`;
  return `turn ${turn} of ${script.letter(runId)}${place}${alone ? " alone" : group} as ${token.slice(-4)}${known}`;
}

function describeFinish(script: Script, { holder, turn, isSpoilt }: Finish): string {
  const { runId: _, token: __, ...rest } = turn;
  return `${describeHolder(script, holder)}${isSpoilt ? ", spoilt" : ""}: ${text(rest)}`;
}
