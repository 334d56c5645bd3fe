/** Wishes of those who claim turns. */
import type { ClaimTurn } from "../../src/postgres/wire.ts";
import { countFitting } from "./budgets.ts";
import { claim, claimable } from "./claims.ts";
import { carriedBy, deployments, versions } from "./deployments.ts";
import { nameOf } from "./facts.ts";
import { begin } from "./make-leases.ts";
import { wrong } from "./make-visits.ts";
import { text } from "./match.ts";
import { freshToken, groupSizeOf } from "./rules.ts";
import type { Row, Run } from "./run.ts";
import { inLockOrder, pick, type Script } from "./script.ts";
import { leaseMs, maxBeginnings, maxClaims } from "./settings.ts";
import type { ClaimItem, ClaimWish } from "./turn-wishes.ts";
import type { World } from "./world.ts";

export const usualClaim: Omit<ClaimItem, "index"> = {
  of: "claimable",
  turn: "right",
  alone: "as needed",
  token: "fresh",
  have: "nothing",
};
export const usualClaims: Omit<ClaimWish, "items"> = {
  kind: "claim",
  by: undefined,
  isElsewhere: false,
  carries: "all",
  environment: "ours",
  begins: true,
  budgetBytes: undefined,
  isLate: false,
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

function describeClaim(script: Script, asked: ClaimTurn): string {
  const { runId, turn, token, alone, groupSize, path, occurrence = 1, have } = asked;
  const group = groupSize === undefined ? "" : ` in a group of ${groupSize}`;
  const place = path === undefined ? "" : ` ${nameOf({ path, occurrence })}`;
  const known = have === undefined ? "" : `, knowing ${text(have)}`;
  return `turn ${turn} of ${script.letter(runId)}${place}${alone ? " alone" : group} as ${token.slice(-4)}${known}`;
}
