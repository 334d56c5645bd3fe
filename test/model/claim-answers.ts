/** What a claim tells whoever has got the lease. */
import type { ClaimTurn } from "../../src/postgres/wire.ts";
import { firstPage, heldPrefix, listOrNull } from "./budgets.ts";
import type { ClaimTerms } from "./claim-terms.ts";
import { inAnyOrder } from "./match.ts";
import { dropRows, isLive } from "./rules.ts";
import type { Answer, Place, Row, Run } from "./run.ts";
import { signalsOffered } from "./settings.ts";
import { isOfVersion } from "./upgrades.ts";
import type { World } from "./world.ts";

/** Answers what the claimer is told, and notes the claimer in the world. */
export function describeRun(world: World, run: Run, { token, have }: ClaimTurn, { budgetBytes }: ClaimTerms): Answer {
  const { now } = world;
  dropRows(run, ({ isReleased, lease }) => isReleased && !isLive(lease, now));
  const holder = {
    of: "run" as const,
    runId: run.id,
    namespace: run.namespace,
    token,
    turn: run.turn,
    seen: run.history.length,
    claimedAt: now,
    lastRecordAt: run.lastRecordAt,
    timeoutAt: run.timeoutAt,
    awaited: run.rows.filter((row) => row.position === undefined && !row.isReleased).map((row) => ({ ...row })),
    hasLosers: run.rows.some((row) => row.isReleased),
    signals: offered(run),
    answers: run.answers.filter(({ takenAt }) => takenAt === undefined).map((answer) => ({ ...answer })),
  };
  world.holders = [...world.holders.filter((other) => other.token !== token), holder];
  const known = isOfVersion(run, have) ? heldPrefix(have, run.history.length) : null;
  const rowsThrough = known === null ? -1 : (have?.rowsThrough ?? Number.POSITIVE_INFINITY);
  const mayHaveChanged = ({ kind, isReleased, attempts }: Row) =>
    kind === "retry" || isReleased || (kind === "branch" && attempts > 0);
  const pending = run.rows.filter((row) => mayHaveChanged(row) || row.demandedAfter > rowsThrough);
  return {
    outcome: "claimed",
    now,
    epoch: 0,
    turn: run.turn,
    have: known,
    position: run.history.length,
    handedPosition: run.handed,
    lastRecordAt: run.lastRecordAt,
    timeoutAt: run.timeoutAt ?? null,
    claims: run.loneClaims,
    beginnings: run.beginnings,
    begun: run.begun ?? null,
    historyBytes: run.historyBytes,
    records: firstPage(run, known ?? 0, run.history.length, budgetBytes),
    pending: pending.length === 0 ? null : inAnyOrder(pending.map(wirePending)),
    signals: listOrNull(
      holder.signals.map(({ number, name, payload, receivedAt }) => ({ number, name, payload, receivedAt })),
    ),
    callbacks:
      holder.answers.length === 0
        ? null
        : inAnyOrder(
            holder.answers.map(({ path, occurrence, outcome, value }) => ({ path, occurrence, outcome, value })),
          ),
    attempted: run.isClosing ? inAnyOrder(attemptedOf(run)) : null,
    endsAs: run.endsAs ?? null,
    run: known === null ? { workflow: run.workflow, version: run.version, input: run.input } : null,
  };
}

/** The steps without a record that may have had their effect, and how many attempts each had. */
function attemptedOf({ attempts, history }: Run): (Place & { attempts: number })[] {
  const had = new Map<string, number>();
  for (const attempt of attempts) {
    const cut = attempt.lastIndexOf("/");
    const name = attempt.slice(0, cut);
    had.set(name, Math.max(had.get(name) ?? 0, Number(attempt.slice(cut + 1))));
  }
  const recorded = history.filter(({ kind }) => kind === "step").map(({ path, occurrence }) => `${path}#${occurrence}`);
  return [...had]
    .filter(([name]) => !recorded.includes(name))
    .map(([name, attempts]) => {
      const cut = name.lastIndexOf("#");
      return { path: name.slice(0, cut), occurrence: Number(name.slice(cut + 1)), attempts };
    });
}

function offered(run: Run): Signal[] {
  const counts = new Map<string, number>();
  return run.signals.flatMap((signal) => {
    if (signal.takenAt !== undefined) return [];
    const count = (counts.get(signal.name) ?? 0) + 1;
    counts.set(signal.name, count);
    return count > signalsOffered ? [] : [{ ...signal }];
  });
}
type Signal = Run["signals"][number];

function wirePending({ kind, path, occurrence, demandedAfter, until, attempts, position, isReleased }: Row): Answer {
  return {
    kind,
    path,
    occurrence,
    demandedAfter,
    until: until ?? null,
    attempts,
    position: position ?? null,
    isReleased,
  };
}

export function describeBranch(
  world: World,
  run: Run,
  row: Row,
  { token, have }: ClaimTurn,
  { budgetBytes }: ClaimTerms,
): Answer {
  const { path, occurrence, turn, attempts, demandedAfter } = row;
  const { id: runId, namespace } = run;
  const holder = { of: "branch" as const, runId, namespace, token, path, occurrence, turn, attempts };
  world.holders = [...world.holders.filter((other) => other.token !== token), holder];
  const known = isOfVersion(run, have) ? heldPrefix(have, demandedAfter) : null;
  return {
    outcome: "claimed",
    now: world.now,
    epoch: 0,
    turn,
    have: known,
    position: demandedAfter,
    handedPosition: run.handed,
    timeoutAt: run.timeoutAt ?? null,
    claims: row.loneClaims,
    beginnings: row.beginnings,
    begun: row.begun ?? null,
    attempts,
    records: firstPage(run, known ?? 0, demandedAfter, budgetBytes),
    run: known === null ? { workflow: run.workflow, version: run.version, input: run.input } : null,
  };
}
