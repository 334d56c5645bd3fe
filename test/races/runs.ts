/** Builds runs in the states that races begin in, by the very calls that get runs there. */
import { createHash, randomUUID } from "node:crypto";
import type * as wire from "../../src/postgres/wire.ts";
import type * as operations from "../../src/postgres/wire-operations.ts";
import type * as verbs from "../../src/postgres/wire-verbs.ts";
import type {
  Armed,
  BranchFinishOptions,
  ClaimOptions,
  FinishOptions,
  Late,
  OperateOptions,
  StartOptions,
} from "./run-options.ts";
import { kept, type Row, type Session, type Stage } from "./stage.ts";

export const noon = Date.UTC(2026, 0, 1, 12);
export const second = 1_000;
export const minute = 60 * second;
/** What calls at noon arm: the motion minute. */
export const soon = noon + minute;

/** Who claims. */
export const terms = {
  environment: "test",
  endpoint: "here",
  versions: { flow: [1] },
  leaseMs: minute,
  maxClaims: 50,
  maxBeginnings: 5,
} as const;

type ClaimOutcome = wire.ClaimAnswer["turns"][number];

export class Run {
  readonly id: string;
  readonly #stage: Stage;

  constructor(stage: Stage, id: string) {
    this.#stage = stage;
    this.id = id;
  }

  claim(by: Session, { notAfter, ...claim }: ClaimOptions & Late): Promise<ClaimOutcome> {
    return onlyTurn(by.call("claim_turns", { ...terms, notAfter, turns: [this.toClaim(claim)] }));
  }

  claimBranch(by: Session, path: string, { notAfter, ...claim }: ClaimOptions & Late): Promise<ClaimOutcome> {
    return onlyTurn(by.call("claim_turns", { ...terms, notAfter, turns: [{ ...this.toClaim(claim), ...at(path) }] }));
  }

  finish(by: Session, { notAfter, ...finish }: FinishOptions & Late): Promise<wire.FinishAnswer> {
    return onlyTurn(by.call("finish_turns", { ...terms, notAfter, turns: [this.toFinish(finish)] }));
  }

  finishBranch(
    by: Session,
    path: string,
    { notAfter, ...finish }: BranchFinishOptions & Late,
  ): Promise<wire.FinishAnswer> {
    return onlyTurn(by.call("finish_turns", { ...terms, notAfter, turns: [this.toFinishBranch(path, finish)] }));
  }

  renew(
    by: Session,
    token: string,
    { path, notAfter, ...begins }: { path?: string; beginnings?: number; begins?: string } & Late = {},
  ): Promise<wire.RenewAnswer> {
    const turn = { runId: this.id, token: tokenOf(token), ...(path !== undefined && at(path)), ...begins };
    return onlyTurn(by.call("renew_leases", { leaseMs: minute, notAfter, turns: [turn] }));
  }

  signal(
    by: Session,
    name: string,
    options: { dedupeId?: string; signalId?: string; payload?: string } & Late & Armed = {},
  ): Promise<verbs.SignalAnswer> {
    const { payload = '0"here"', ...more } = options;
    const call = { runId: this.id, signalId: randomUUID(), name, encodedPayload: payload, armed: [soon], ...more };
    return by.call("send_signal", call);
  }

  answer(
    by: Session,
    path: string,
    options: { value?: string; outcome?: "resolved" | "rejected" } & Late & Armed = {},
  ): Promise<verbs.CallbackAnswer> {
    const call = {
      runId: this.id,
      epoch: 0,
      ...at(path),
      outcome: "resolved",
      value: "0true",
      armed: [soon],
      ...options,
    };
    return by.call("answer_callback", call);
  }

  /** What a person does to it. */
  operate(by: Session, verb: operations.SingleVerb, more: OperateOptions = {}): Promise<operations.OperationAnswer> {
    const call = { runId: this.id, callId: randomUUID(), by: "ada", reason: "to see", armed: [soon], ...more };
    return by.call(`${verb}_run`, call);
  }

  toClaim({ turn = 1, token, alone = false, ...more }: ClaimOptions): wire.ClaimTurn {
    return { runId: this.id, turn, token: tokenOf(token), alone, ...more };
  }

  toFinish({ token, claim, ...more }: FinishOptions): wire.FinishRun {
    return {
      runId: this.id,
      token: tokenOf(token),
      position: 0,
      next: "parked",
      armed: [soon],
      ...more,
      ...(claim !== undefined && { claim: this.toClaim(claim) }),
    };
  }

  toFinishBranch(path: string, options: BranchFinishOptions): wire.FinishBranch {
    const { token, turn = 1, value = "0true", isFailure = false, attempt, blocked, setback, armed = [soon] } = options;
    const record = { value, isFailure, at: noon, beganAt: noon, attempts: 1 };
    const why = setback !== undefined ? { setback } : blocked !== undefined ? { blocked } : { record };
    const what = attempt !== undefined ? { attempt } : why;
    return { runId: this.id, ...at(path), turn, token: tokenOf(token), armed, ...what };
  }

  /** So many leases of it, or of its branches, were lost in a row before the one that stands. */
  async lose(times: number): Promise<void> {
    for (const table of ["run_state", "pending"])
      await this.#stage.onlooker.query(`update layover.${table} set lost = ${times} where run_id = $1`, [this.id]);
  }

  /** Its row as it is committed; times in epoch milliseconds. */
  async state(): Promise<Row> {
    const [row] = await this.#stage.look(
      `select t.status, t.turn, t.claims, t.beginnings, t.lost, t.spared, t.dispatches, t.token, t.blocked, t.result,
          t.last_position as "lastPosition", t.cancelled_position as "cancelledPosition",
          layover.to_ms(t.leased_until)::float8 as "leasedUntil", layover.show_ready_at(t.ready_at)::float8 as "readyAt",
          layover.to_ms(t.due_at)::float8 as "dueAt", coalesce(t.ready_at <= layover.now(), false) as "isReady"
         from layover.run_state t where t.run_id = $1`,
      [this.id],
    );
    return row ?? {};
  }

  /** What it waits for, by path: of several occurrences the first. */
  async pending(): Promise<Readonly<Record<string, Row>>> {
    const rows = await this.#stage.look(
      `select b.path, b.kind, b.turn, b.position, b.token, b.claims, b.beginnings, b.lost, b.spared, b.dispatches, b.attempts, b.is_queued as "isQueued",
          b.is_released as "isReleased", b.is_shielded as "isShielded", layover.to_ms(b.leased_until)::float8 as "leasedUntil"
         from layover.pending b where b.run_id = $1 order by b.occurrence desc`,
      [this.id],
    );
    return Object.fromEntries(rows.map(({ path, ...row }) => [String(path), row]));
  }

  /** Its history: the kinds and paths of its records, in order. */
  async kinds(): Promise<readonly string[]> {
    const rows = await this.#stage.look("select kind, path from layover.record where run_id = $1 order by position", [
      this.id,
    ]);
    return rows.map(({ kind, path }) => `${kind} ${path}`.trim());
  }

  /** Its history: the paths of its records, in order. */
  async history(): Promise<readonly unknown[]> {
    const rows = await this.#stage.look(
      "select path, position from layover.record where run_id = $1 order by position",
      [this.id],
    );
    return rows.map(({ path, position }, index) => (position === index + 1 ? path : { path, position }));
  }
}

/** Ready to be claimed, and not the first one in its database. */
export async function aRun(stage: Stage, { runId = randomUUID(), ...options }: StartOptions = {}): Promise<Run> {
  await stage.onlooker.call("adopt_environment", terms);
  await stage.onlooker.call("start_run", { ...aStart(runId), ...options });
  return new Run(stage, runId);
}

export function aStart(runId: string = randomUUID()): Omit<verbs.StartCall, "armed"> & { armed: readonly number[] } {
  return { runId, workflow: "flow", version: 1, encodedInput: "0{}", armed: [soon] };
}

/** Its first turn is under way, with the token "first". */
export async function aRunAtWork(stage: Stage, options: StartOptions = {}): Promise<Run> {
  const run = await aRun(stage, options);
  await run.claim(stage.onlooker, { token: "first" });
  return run;
}

/** Parked in its second turn, after its first one made these demands. */
export async function aParkedRun(
  stage: Stage,
  demands: readonly wire.NewDemand[],
  options: StartOptions & { readonly armed?: readonly number[] } = {},
): Promise<Run> {
  const { armed = [soon], ...start } = options;
  const run = await aRunAtWork(stage, start);
  await run.finish(stage.onlooker, { token: "first", demands, armed });
  return run;
}

/** A run that was claimed once. That lease was given back, so nobody is at work. */
export async function aBegunRun(stage: Stage, options: StartOptions = {}): Promise<Run> {
  const run = await aRun(stage, options);
  await run.claim(stage.onlooker, { token: "begun" });
  await stage.onlooker.call("return_leases", { turns: [{ runId: run.id, token: tokenOf("begun") }] });
  return run;
}

/** Branches that are demanded together, each claimed with its path as the token. */
export async function aFanOut(stage: Stage, paths: readonly string[], options: StartOptions = {}): Promise<Run> {
  const run = await aParkedRun(stage, branches(paths), options);
  for (const path of paths) await run.claimBranch(stage.onlooker, path, { token: path });
  return run;
}

/** The items of one map; those that have a slot are claimed, with their path as the token. */
export async function aMap(
  stage: Stage,
  paths: readonly string[],
  { slots = null, failsFast = false }: { slots?: number | null; failsFast?: boolean } = {},
): Promise<Run> {
  const run = await aParkedRun(stage, branches(paths, { path: "all", slots, failsFast }));
  for (const path of paths.slice(0, slots ?? paths.length))
    await run.claimBranch(stage.onlooker, path, { token: path });
  return run;
}

export function branches(paths: readonly string[], map?: wire.NewDemand["map"]): wire.NewDemand[] {
  return paths.map((path, index) => aDemand("branch", path, { ordinal: index + 1, ...(map !== undefined && { map }) }));
}

/** What was demanded in a cleanup. */
export function shielded(demands: readonly wire.NewDemand[]): wire.NewDemand[] {
  return demands.map((demand) => ({ ...demand, isShielded: true }));
}

export function aWaitFor(signal: string, more: Partial<wire.NewDemand> = {}): wire.NewDemand {
  return aDemand("signal", signal, { signal, ...more });
}

export function aDemand(kind: wire.PendingKind, path: string, more: Partial<wire.NewDemand> = {}): wire.NewDemand {
  return { kind, ...at(path), demandedAfter: 0, ordinal: 1, ...more };
}

export function aRecord(kind: wire.RecordKind, path: string, more: Partial<wire.NewRecord> = {}): wire.NewRecord {
  return { kind, ...at(path), at: noon, value: "0null", ...more };
}

export function at(path: string): wire.Place {
  return { path, occurrence: 1 };
}

/** The token of this name. */
export function tokenOf(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

function onlyTurn<Item>(answer: Promise<{ readonly turns: readonly Item[] }>): Promise<Item> {
  return kept(answer.then(({ turns }) => only(turns)));
}

export function only<Item>(items: readonly Item[]): Item {
  const [item, ...rest] = items;
  if (item === undefined || rest.length > 0) throw new Error(`One was expected, not ${items.length}.`);
  return item;
}
