/**
 * Other worlds for a replay: another time of day, other random numbers, another timezone. What a handler decides by these
 * comes out otherwise there. Handlers see the globals of the process, so the globals are changed as long as it takes.
 */
import { realPause } from "./timers.ts";

export interface World {
  readonly clockShiftMs: number;
  /** What `Math.random` draws first. The further draws differ from each other, so that no loop waits for one in vain. */
  readonly firstDraw: number;
  readonly timezone: string;
}

const [day, hour] = [86_400_000, 3_600_000];

/** Two, on opposite sides: whatever compares one draw with a limit comes out otherwise in one of them. */
export const otherWorlds: readonly World[] = [
  { clockShiftMs: 191 * day + 12 * hour, firstDraw: 0.001, timezone: "Pacific/Kiritimati" },
  { clockShiftMs: -100 * day - 7 * hour, firstDraw: 0.999, timezone: "Pacific/Pago_Pago" },
];

/** The world in which a replay is at present, until it comes back. A process has one at a time. */
let away: Promise<unknown> | undefined;
/** How many engines of this process are at work in the usual world. */
let atWork = 0;
const patienceMs = 1_000;
const roundMs = 5;

/** Does the work of an engine, never while another one is in another world. */
export async function inUsualWorld<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  while (away !== undefined) await away;
  atWork += 1;
  try {
    return await work();
  } finally {
    atWork -= 1;
  }
}

/**
 * Does the work in that world, and comes back. Undefined: it was not done, since another engine of this process was at
 * work for more than a second.
 */
export async function inWorld<Answer>(world: World, work: () => Promise<Answer>): Promise<Answer | undefined> {
  for (let waitedMs = 0; away !== undefined || atWork > 0; waitedMs += roundMs) {
    if (waitedMs > patienceMs) return undefined;
    await realPause(roundMs);
  }
  const doing = changed(world, work);
  away = doing.catch(() => {});
  try {
    return await doing;
  } finally {
    away = undefined;
  }
}

async function changed<Answer>(world: World, work: () => Promise<Answer>): Promise<Answer> {
  const { Date: usualDate } = globalThis;
  const { random } = Math;
  const timezone = process.env["TZ"];
  globalThis.Date = shiftedDate(usualDate, world.clockShiftMs);
  Math.random = draws(world.firstDraw);
  process.env["TZ"] = world.timezone;
  try {
    return await work();
  } finally {
    globalThis.Date = usualDate;
    Math.random = random;
    if (timezone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = timezone;
  }
}

function shiftedDate(usual: DateConstructor, shiftMs: number): DateConstructor {
  const now = () => usual.now() + shiftMs;
  return new Proxy(usual, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: (target) => new target(now()).toString(),
    get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
  });
}

/** The first draw, and then those of a linear congruential generator (Numerical Recipes). */
function draws(first: number): () => number {
  let state = Math.floor(first * 2 ** 32);
  let next = first;
  return () => {
    const drawn = next;
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    next = state / 2 ** 32;
    return drawn;
  };
}
