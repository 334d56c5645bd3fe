/** `step.waitForCallback` and `step.createCallback`: somebody outside is invited, and answers or does not. */
import fc from "fast-check";
import { caught } from "./caught.ts";
import { crashed } from "./crashed.ts";
import { type CallbackPlan, markOf, type Playing, type Program, type Verb } from "./part.ts";
import { eitherOf, exactly } from "./prospects.ts";
import { inVain, type WaitSpec } from "./signal.ts";
import { like } from "./thrown.ts";
import { options } from "./words.ts";

export interface CallbackSpec extends Omit<CallbackPlan, "value">, WaitSpec {
  /** Made by `createCallback`, and announced by a step of one's own. */
  readonly isOwn: boolean;
}

const name = "approval";

export function answered({ answer, afterMs, twice, isOwn, timeout, onTimeout = "throw" }: CallbackSpec): Program {
  const wait = async (playing: Playing): Promise<string | null> => {
    const { step, at, runId, world } = playing;
    const plan = { answer, value: markOf(name, at), afterMs, twice };
    const announce = ({ token, idempotencyKey }: { token: string; idempotencyKey: string }) => {
      world.onBody(runId, idempotencyKey);
      world.invite({ runId, token, plan });
    };
    const limit = timeout === undefined ? {} : { timeout };
    if (!isOwn && onTimeout === "throw") return step.waitForCallback(name, announce, limit);
    if (!isOwn) return step.waitForCallback(name, announce, { ...limit, onTimeout: "null" });
    const callback = step.createCallback(name);
    await step.run("announce", ({ idempotencyKey }) => announce({ token: callback.token, idempotencyKey }));
    return onTimeout === "throw" ? callback.wait(limit) : callback.wait({ ...limit, onTimeout: "null" });
  };
  return {
    kind: isOwn ? "own callback" : "callback",
    parts: [],
    play: async (playing) => {
      const answer = await wait(playing);
      return answer === null ? inVain : { approval: answer };
    },
    prospects: ({ at, facts }) => {
      const value = markOf(name, at);
      const reply = facts.answered.find((each) => each.value === value);
      const mayAnswer = answer !== "never" && (timeout === undefined || reply?.isAccepted !== false);
      const mayTimeOut = timeout !== undefined && reply?.isAccepted !== true;
      const rejected = like({ name: "CallbackRejectedError", says: `the callback "${name}" was rejected: ${value}` });
      const timedOut = like({ name: "TimeoutError", says: `the callback "${name}"` });
      return {
        returns: eitherOf([
          mayAnswer && answer === "resolve" ? exactly({ approval: value }) : undefined,
          mayTimeOut && onTimeout === "null" ? exactly(inVain) : undefined,
        ]),
        throws: eitherOf([
          mayAnswer && answer === "reject" ? rejected : undefined,
          mayTimeOut && onTimeout === "throw" ? timedOut : undefined,
          crashed(facts.beginnings ?? 0),
        ]),
        mayHang: answer === "never" && timeout === undefined,
      };
    },
    inWords: (at) => {
      const plan = `${answer}s("${markOf(name, at)}"${options({ afterMs, ...(twice && { twice }) })})`;
      const made = isOwn ? `own(step.createCallback("${name}")` : `step.waitForCallback("${name}"`;
      return `await ${made}, ${plan}${options({ timeout, onTimeout: timeout === undefined ? undefined : onTimeout })})`;
    },
  };
}

const people = {
  afterMs: fc.constantFrom(0, 0, 2_000, 30_000, 31_000, 600_000),
  twice: fc.boolean(),
  isOwn: fc.boolean(),
};
const settling = fc.constantFrom("resolve" as const, "resolve" as const, "reject" as const);
const untimed = fc.record({ ...people, answer: settling });
const timed = fc.record({
  ...people,
  answer: fc.constantFrom("resolve" as const, "reject" as const, "never" as const),
  timeout: fc.constantFrom(0, 30_000, 300_000),
  onTimeout: fc.constantFrom("null" as const, "throw" as const),
});
const silent = timed.map((spec) => ({ ...spec, answer: "never" as const }));

export const callback: Verb = {
  weight: 3,
  arbitrary: () => fc.oneof(untimed, timed).map(answered),
  orderly: () => fc.oneof(untimed, silent).map((spec) => caught(answered(spec))),
};
