/** What must hold of each run when nothing is left to happen. */
import { decode } from "../../src/core/codec/codec.ts";
import type { Handled } from "./operators.ts";
import { mostBeginnings } from "./programs/crashed.ts";
import { allows, type Facts, mayWait, type Program } from "./programs/program.ts";
import { thrownOf } from "./programs/thrown.ts";
import { isOfBody, isOver, type RunRows } from "./snapshot.ts";
import { type Undoing, wrongAccount } from "./undoing.ts";

export interface Case extends Omit<Undoing, "rows">, Handled {
  /** Whether it was retried, restarted or forked: what it did before does not say what it does now. */
  readonly isRepaired: boolean;
  readonly program: Program;
  /** Timeout of the whole run, in milliseconds. */
  readonly timeoutMs: number | undefined;
  readonly rows: RunRows | undefined;
  /** Whether somebody was told that the run started. */
  readonly hasStarted: boolean;
  /** Whether somebody may have started the run without waiting for the answer. */
  readonly mayHaveStarted: boolean;
  /** The signals of which somebody was told that they came. Others may have come too: their answer was lost. */
  readonly sent: Facts["signals"];
  readonly answers: Omit<Facts, "signals">;
  /** How many steps had their bodies carried out. */
  readonly bodies: number;
  /** What it has said of itself. */
  readonly said: ReadonlySet<string>;
  /** The versions that it may be of, after all moves. */
  readonly versions: ReadonlySet<number>;
  /** The versions whose code has returned for it. */
  readonly returned: ReadonlySet<string>;
  /** Whether its history is not its first one, so that it may have begun what nothing tells of any more. */
  readonly hasLaterEpoch: boolean;
  /** Whether nobody may answer a callback that it waits for: a step of another run that it has copied may have sent the URL, or whoever has it gave up. */
  readonly mayLackUrl: boolean;
  /** The cleanups that its handler had entered and not left at its end. */
  readonly openCleanups: readonly string[];
}

export function judge({
  program,
  timeoutMs,
  rows,
  hasStarted,
  mayHaveStarted,
  sent,
  answers,
  bodies,
  said,
  versions,
  returned,
  given,
  isDeleted,
  mayBeDeleted,
  isCancelled,
  isTerminated,
  mayHaveEnded,
  isRepaired,
  hasLaterEpoch,
  mayLackUrl,
  openCleanups,
  ...undoing
}: Case): readonly string[] {
  if (rows === undefined) return hasStarted && !mayBeDeleted ? ["it was started, and is not there"] : [];
  if (isDeleted) return ["it was deleted, and is there"];
  if (!hasStarted && !mayHaveStarted) return ["nobody was told that it started, and it is there"];
  const { status, blocked, signals, pending, steps } = rows;
  const wrongs: string[] = isRepaired || hasLaterEpoch ? [] : [...wrongAccount({ rows, ...undoing })];
  const came = signals.map(({ name, payload }) => ({ name, payload: decode(payload) }));
  for (const { name, payload } of sent)
    if (!came.some((each) => each.name === name && each.payload === payload))
      wrongs.push(`signal "${name}" ${String(payload)} was acknowledged, and is not there`);
  const facts = { ...answers, signals: came };
  const results = steps.filter(isOfBody).length;
  if (results > bodies + given)
    wrongs.push(`${results} steps have results, ${given} were given, and only ${bodies} had their bodies carried out`);
  if (rows.customStatus !== null && !said.has(String(decode(rows.customStatus))))
    wrongs.push(`it says "${rows.customStatus}" of itself, which it never said`);
  if (!versions.has(rows.version))
    wrongs.push(`it is of version ${rows.version}, and should be of ${[...versions].join(" or ")}`);
  if (status === "completed" && !returned.has(String(rows.version)))
    wrongs.push(
      `it is of version ${rows.version}, and only code of version ${[...returned].join()} has returned for it`,
    );
  if (isOver(rows)) {
    const value = decode(rows.end ?? "");
    const isEnded = isCancelled || isTerminated;
    if (status === "cancelled" ? !mayHaveEnded : isEnded)
      return [...wrongs, `it ${isEnded ? "was" : "was not"} cancelled or terminated, and is ${status}`];
    if (status === "cancelled" && !isEnded) return wrongs;
    if (isTerminated) return wrongs;
    // After a second record of its end the hour of its cleanups was over.
    if (rows.closings === 1) for (const at of openCleanups) wrongs.push(`it ended within the cleanup at "${at}"`);
    if (isCancelled) return [...wrongs, ...wrongCancel(rows, value)];
    if (thrownOf(value).code === "run_timeout")
      return timeoutMs === undefined ? [...wrongs, "it has no timeout, and timed out"] : wrongs;
    if (isRepaired) return wrongs;
    const outcome =
      status === "completed" ? { kind: "returned" as const, value } : { kind: "threw" as const, error: value };
    if (!allows(program, outcome, facts)) wrongs.push(`it may not end like this: ${status}, ${inspect(value)}`);
    return wrongs;
  }
  if (isTerminated) return [...wrongs, "it was terminated, and is not over"];
  if (isCancelled && blocked === null) return [...wrongs, "it was cancelled, and is not over"];
  if (blocked !== null) {
    const isKilled = /invocations in a row began/.test(blocked) && (facts.beginnings ?? 0) > mostBeginnings;
    return isKilled ? wrongs : [...wrongs, `it is blocked: ${blocked}`];
  }
  if (timeoutMs !== undefined || !(isRepaired || mayWait(program, facts))) wrongs.push("it is not over, and should be");
  for (const { kind, signal, isTimed } of pending.filter(({ isReleased }) => !isReleased)) {
    if (kind === "callback" && mayLackUrl) continue;
    if (kind !== "signal" || isTimed) wrongs.push(`it waits at the end, for a ${kind}`);
    else if (signals.some(({ name, position }) => name === signal && position === null))
      wrongs.push(`it waits for signal "${signal}", which was sent and not taken`);
  }
  return wrongs;
}

function* wrongCancel({ closings, lastPosition }: RunRows, value: unknown): Generator<string> {
  const { name } = thrownOf(value);
  if (name !== "CancelledError") yield `it was cancelled, and ended with a ${name}`;
  if (closings === 0 && lastPosition > 0) yield "it was cancelled, and its handler was not told";
}

function inspect(value: unknown): string {
  return value instanceof Error ? `${value.name}: ${value.message}` : JSON.stringify(value);
}
