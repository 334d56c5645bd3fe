/** What must hold of each run when nothing is left to happen. */
import { decode } from "../../src/core/codec.ts";
import { allows, type Facts, mayWait, type Program } from "./programs/program.ts";
import { isOver, type RunRows } from "./snapshot.ts";

export interface Case {
  readonly program: Program;
  readonly rows: RunRows | undefined;
  /** Whoever started it was told so. */
  readonly hasStarted: boolean;
  readonly facts: Facts;
  /** How many steps had their bodies carried out. */
  readonly bodies: number;
}

export function judge({ program, rows, hasStarted, facts, bodies }: Case): readonly string[] {
  if (rows === undefined) return hasStarted ? ["it was started, and is not there"] : [];
  if (!hasStarted) return ["nobody was told that it started, and it is there"];
  const { status, blocked, signals, pending, steps } = rows;
  const wrongs: string[] = [];
  if (signals.length !== facts.signals.length)
    wrongs.push(`${facts.signals.length} signals were sent, and ${signals.length} came`);
  if (steps > bodies) wrongs.push(`${steps} steps have results, and only ${bodies} had their bodies carried out`);
  if (isOver(rows)) {
    const value = decode(rows.end ?? "");
    const outcome =
      status === "completed" ? { kind: "returned" as const, value } : { kind: "threw" as const, error: value };
    if (!allows(program, outcome, facts)) wrongs.push(`it may not end like this: ${status}, ${inspect(value)}`);
    return wrongs;
  }
  if (blocked !== null) {
    const isKilled = /invocations in a row died/.test(blocked) && (facts.crashes ?? 0) > 0;
    return isKilled ? wrongs : [...wrongs, `it is blocked: ${blocked}`];
  }
  if (!mayWait(program, facts)) wrongs.push("it is not over, and should be");
  for (const { kind, signal, isTimed } of pending.filter(({ isReleased }) => !isReleased)) {
    if (kind !== "signal" || isTimed) wrongs.push(`it waits at the end, for a ${kind}`);
    else if (signals.some(({ name, position }) => name === signal && position === null))
      wrongs.push(`it waits for signal "${signal}", which was sent and not taken`);
  }
  return wrongs;
}

function inspect(value: unknown): string {
  return value instanceof Error ? `${value.name}: ${value.message}` : JSON.stringify(value);
}
