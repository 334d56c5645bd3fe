/**
 * A hunt for deadlocks: for each pair of functions, sessions that call the one and sessions that call the other, on the
 * same few runs, while a crowd (test/races/crowd.ts) plays the whole protocol on them and so keeps them in motion.
 */
import { randomUUID } from "node:crypto";
import { motionMinute } from "../../src/core/waking.ts";
import { Crowd } from "../races/crowd.ts";
import { terms } from "../races/runs.ts";
import type { Session, Stage } from "../races/stage.ts";
import type { Ground } from "./hammer-ground.ts";
import { moves } from "./hammer-moves.ts";

export interface HammerOptions {
  readonly stage: Stage;
  /** How often each session of a pair calls its function. */
  readonly rounds: number;
  /** How many sessions call each function of a pair. */
  readonly sessions?: number;
  /** Default: all that there are. */
  readonly functions?: readonly string[];
  readonly report?: (line: string) => void;
}

export interface Struck {
  readonly pair: string;
  readonly sqlState: string;
  readonly message: string;
}

const ids = ["h0", "h1", "h2"];
const leastRuns = 4;

export async function hammer({
  stage,
  rounds,
  sessions = 2,
  functions = Object.keys(moves),
  report,
}: HammerOptions): Promise<readonly Struck[]> {
  const struck: Struck[] = [];
  await stage.onlooker.call("adopt_environment", terms);
  const [ones, others] = [await sessionsOn(stage, sessions), await sessionsOn(stage, sessions)];
  const ground: Ground = { stage, ids };
  const crowd = new Crowd(stage, { runs: 3 });
  const pairs = pairsOf(functions);
  const crowding = crowd.play({ players: 3, rounds: Math.ceil(pairs.length * rounds * 0.5) });
  for (const [index, [one, other]] of pairs.entries()) {
    const strike = async (session: Session, name: string) => {
      for (let round = 0; round < rounds; round += 1) {
        try {
          await moves[name]?.(session, ground);
        } catch (error) {
          struck.push({ pair: `${one} and ${other}`, ...factsOf(error) });
        }
      }
    };
    await fill(ground);
    await Promise.all([...ones.map((each) => strike(each, one)), ...others.map((each) => strike(each, other))]);
    if (index % 20 === 19) report?.(`${index + 1} of ${pairs.length} pairs, ${struck.length} errors`);
  }
  await crowding;
  for (const error of crowd.told.errors) struck.push({ pair: "the crowd", ...factsOf(error) });
  return struck;
}

/** Runs end now and then; there are always some that have not. */
async function fill({ stage }: Ground): Promise<void> {
  const [row] = await stage.look("select count(*)::integer as live from layover.run_state where ended_at is null");
  for (let live = Number(row?.["live"]); live < leastRuns; live += 1) {
    const call = { runId: randomUUID(), workflow: "flow", version: 1, encodedInput: "0{}" };
    await stage.onlooker.call("start_run", { ...call, armed: [motionMinute(Date.now())] });
  }
}

async function sessionsOn(stage: Stage, count: number): Promise<readonly Session[]> {
  const sessions = await Promise.all(Array.from({ length: count }, (_, index) => stage.session(`hammer ${index}`)));
  for (const session of sessions) await session.query("set deadlock_timeout = '100ms'");
  return sessions;
}

function pairsOf(names: readonly string[]): (readonly [string, string])[] {
  return names.flatMap((one, index) => names.slice(index).map((other) => [one, other] as const));
}

function factsOf(error: unknown): Pick<Struck, "sqlState" | "message"> {
  if (typeof error !== "object" || error === null) return { sqlState: "none", message: String(error) };
  const { code, sqlState = code, message, where = "" }: { readonly [fact in Fact]?: unknown } = error;
  return { sqlState: String(sqlState), message: `${String(message)} ${String(where)}`.trim() };
}

/** What Postgres' errors say of themselves, and what finish_turns says of an item that raised. */
type Fact = "code" | "sqlState" | "message" | "where";
