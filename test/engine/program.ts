/** Small workflow programs, made at random: what they are, and a handler that plays them. */
import fc from "fast-check";
import { workflow } from "layover";
import * as z from "zod";

export type Program =
  | { readonly kind: "step"; readonly name: string; readonly failures: number; readonly delay: number }
  | { readonly kind: "fatal"; readonly name: string }
  | { readonly kind: "sleep"; readonly name: string; readonly ms: number }
  | { readonly kind: "signal"; readonly name: SignalName; readonly timeout: number | undefined }
  | { readonly kind: "uuid" | "now" }
  | { readonly kind: "scope" | "caught"; readonly body: Program }
  | { readonly kind: "sequence"; readonly parts: readonly Program[] }
  | { readonly kind: Combinator; readonly parts: readonly Program[] }
  | { readonly kind: "map" | "mapSettled"; readonly count: number; readonly slots: number; readonly body: Program };

type Combinator = "all" | "race" | "plainAll" | "plainRace" | "plainAny" | "plainSettled";
export type SignalName = "red" | "green" | "blue";

export const programContract = workflow({
  name: "program",
  version: 1,
  signals: { red: z.number(), green: z.number(), blue: z.number() },
});

type Handler = Parameters<typeof programContract.handler>[0];
type Step = Parameters<Handler>[0]["step"];

/** Plays `program`; `onBody` is told whenever a step's body runs. */
export function playing(program: Program, onBody: (idempotencyKey: string) => void = () => {}): Handler {
  const play = async (part: Program, step: Step): Promise<unknown> => {
    switch (part.kind) {
      case "step":
        return step.run(
          part.name,
          ({ attempt, idempotencyKey }) => {
            onBody(idempotencyKey);
            if (attempt <= part.failures) throw new Error(`failure ${attempt} of ${part.name}`);
            return `${part.name} ${part.failures}`;
          },
          { retry: { maxAttempts: 4, delay: part.delay, jitter: false } },
        );
      case "fatal":
        return step.run(
          part.name,
          ({ idempotencyKey }) => {
            onBody(idempotencyKey);
            throw new TypeError(`${part.name} is fatal`);
          },
          { retry: { maxAttempts: 1 } },
        );
      case "sleep":
        return step.sleep(part.name, part.ms);
      case "signal":
        return part.timeout === undefined
          ? step.waitForSignal(part.name)
          : step.waitForSignal(part.name, { timeout: part.timeout, onTimeout: "null" });
      case "uuid":
        return step.uuid();
      case "now":
        return step.now();
      case "scope":
        return step.scope("room", ({ step }) => play(part.body, step));
      case "caught":
        return play(part.body, step).catch((error: unknown) => `caught ${nameOf(error)}`);
      case "sequence": {
        const results: unknown[] = [];
        for (const each of part.parts) results.push(await play(each, step));
        return results;
      }
      case "all":
      case "race":
        return step[part.kind](
          "branches",
          part.parts.map(
            (each) =>
              ({ step }: { step: Step }) =>
                play(each, step),
          ),
        );
      case "map":
      case "mapSettled": {
        const items = Array.from({ length: part.count }, (_, index) => index);
        const options = part.slots === 0 ? {} : { maxConcurrency: part.slots };
        if (part.kind === "map") return step.map("each", items, (_, { step }) => play(part.body, step), options);
        return (await step.mapSettled("each", items, (_, { step }) => play(part.body, step), options)).map(settled);
      }
      case "plainAll":
        return Promise.all(part.parts.map((each) => play(each, step)));
      case "plainRace":
        return Promise.race(part.parts.map((each) => play(each, step)));
      case "plainAny":
        return Promise.any(part.parts.map((each) => play(each, step)));
      case "plainSettled":
        return (await Promise.allSettled(part.parts.map((each) => play(each, step)))).map(settled);
    }
  };
  return ({ step }) => play(program, step);
}

function settled(outcome: PromiseSettledResult<unknown>): unknown {
  return outcome.status === "fulfilled" ? outcome.value : `rejected ${nameOf(outcome.reason)}`;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}

const names = fc.constantFrom("a", "b", "c");
const step = fc.record({
  kind: fc.constant("step" as const),
  name: names,
  failures: fc.constantFrom(0, 0, 0, 0, 1, 2),
  delay: fc.constantFrom(500, 15_000),
});
const fatal = fc.record({ kind: fc.constant("fatal" as const), name: names });
const sleep = fc.record({
  kind: fc.constant("sleep" as const),
  name: names,
  ms: fc.constantFrom(0, 1, 1_000, 90_000, 600_000),
});
const drawn = fc.record({ kind: fc.constantFrom("uuid" as const, "now" as const) });

/** Programs whose result does not depend on what happens first. */
export const orderly: fc.Arbitrary<Program> = programs({
  leaves: [step, step, sleep, caught(fatal)],
  combinators: ["all", "plainAll", "plainSettled"],
  maps: ["map", "mapSettled"],
});

/** Any. */
export const wild: fc.Arbitrary<Program> = programs({
  leaves: [
    ...Array.from({ length: 6 }, () => step),
    sleep,
    sleep,
    fatal,
    fc.tuple(step, drawn).map<Program>((parts) => ({ kind: "sequence", parts })),
    fc.record({
      kind: fc.constant("signal" as const),
      name: fc.constantFrom<SignalName>("red", "green", "blue"),
      timeout: fc.constantFrom(0, 30_000, 300_000, 3_600_000),
    }),
  ],
  combinators: ["all", "race", "plainAll", "plainRace", "plainAny", "plainSettled"],
  maps: ["map", "mapSettled"],
});

function caught(body: fc.Arbitrary<Program>): fc.Arbitrary<Program> {
  return body.map((inner) => ({ kind: "caught", body: inner }));
}

function programs({
  leaves,
  combinators,
  maps,
}: {
  readonly leaves: readonly fc.Arbitrary<Program>[];
  readonly combinators: readonly Combinator[];
  readonly maps: readonly ("map" | "mapSettled")[];
}): fc.Arbitrary<Program> {
  const leaf = fc.oneof(...leaves);
  const atDepth = (depth: number): fc.Arbitrary<Program> => {
    if (depth === 0) return leaf;
    const inner = atDepth(depth - 1);
    const parts = fc.array(inner, { minLength: 1, maxLength: 3, size: "max" });
    return fc.oneof(
      { weight: 1, arbitrary: leaf },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("sequence" as const), parts }) },
      { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom(...combinators), parts }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom(...maps),
          count: fc.integer({ min: 0, max: 3 }),
          slots: fc.integer({ min: 0, max: 2 }),
          body: inner,
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("scope" as const), body: inner }) },
      { weight: 1, arbitrary: caught(inner) },
    );
  };
  const parts = fc.array(atDepth(3), { minLength: 1, maxLength: 2, size: "max" });
  return fc.record({ kind: fc.constant("sequence" as const), parts });
}
