/** The `step` of a handler. Each verb names its place, checks its arguments and becomes a demand. */
import { endOfToken } from "../contract/callback.ts";
import { checkQuestion } from "../contract/question.ts";
import { resolveRetry } from "../contract/retry.ts";
import type { Schemas } from "../contract/schema.ts";
import type {
  Branch,
  Branches,
  Callback,
  CallbackContext,
  MapOptions,
  Question,
  Step,
  StepContext,
  StepOptions,
  StepOptionsOfAnnouncement,
  WaitOptions,
} from "../contract/step.ts";
import { CancelledError } from "../contract/user-errors.ts";
import { toMilliseconds } from "../duration.ts";
import { LayoverError } from "../errors.ts";
import { checkPath, checkStepName } from "../names.ts";
import { type MapScope, placeName, type StepBody } from "./demand.ts";
import type { Execution } from "./execution.ts";
import { handingOut } from "./handed-out.ts";
import { toRandom, toUuid } from "./seeded.ts";
import { checkBranches, checkFunction, checkIsDeclared, checkOptions, invalid } from "./step-checks.ts";
import { keyPart } from "./step-key.ts";

export interface StepsOptions {
  readonly execution: Execution;
  /** 32 bytes that depend on the run, its epoch and this text only. */
  readonly seed: (text: string) => Uint8Array;
  /** Makes the one-time URL of a callback. Throws if the deployment has no public URL or no secret. */
  readonly sealCallback: (
    callback: Question & {
      readonly name: string;
      readonly path: string;
      readonly occurrence: number;
      readonly endsAt: number;
    },
  ) => {
    readonly url: string;
    readonly token: string;
  };
  readonly stepTimeoutMs: number;
  /** Makes a digest in hexadecimal. The same text gives the same digest for ever. */
  readonly digest: (text: string) => string;
  /** The names that the contract declares. */
  readonly signals: readonly string[];
  readonly callbacks: readonly string[];
}

const optionsOfStep = ["retry", "timeout", "key", "sensitiveKey"];
const optionsOfWait = ["timeout", "onTimeout"];
const optionsOfMap = ["maxConcurrency", "key", "sensitiveKey"];
const inAStep = "() => fetch(url)";
const ofAnItem = '(item, { step }) => step.run("name", …)';

interface Scope {
  /** Empty for the run itself, otherwise ends before the name that follows. */
  readonly prefix: string;
  readonly map: MapScope | undefined;
}

export function makeStep(options: StepsOptions): Step {
  return stepIn(options, { prefix: "", map: undefined });
}

/** `announces`: the callback that the steps of this `step` announce. */
function stepIn(options: StepsOptions, scope: Scope, announces?: StepBody["announces"]): Step {
  const { execution, seed, sealCallback, stepTimeoutMs, digest } = options;
  const { closed } = execution;

  const place = (name: string, key = "") => {
    execution.checkIsOutside(name);
    const path = checkPath(scope.prefix + checkStepName(name) + key);
    const occurrence = execution.nextOccurrence(path);
    if (key !== "" && occurrence > 1) throw duplicateKey(path);
    return { path, occurrence, map: scope.map };
  };
  /** The path of a room for names; a second one of the same name is another room. */
  const room = (name: string) => {
    execution.checkIsOutside(name);
    const path = checkPath(scope.prefix + checkStepName(name));
    const occurrence = execution.nextOccurrence(`${path}/`);
    return occurrence === 1 ? path : `${path}#${occurrence}`;
  };
  const inside = (prefix: string, map = scope.map) => stepIn(options, { prefix, map });
  const seeded = (what: string) => {
    const key = `${scope.prefix}/${what}`;
    return seed(`${key}/${execution.nextOccurrence(key)}`);
  };

  async function run<Result>(
    name: string,
    body: (context: StepContext) => Result | Promise<Result>,
    stepOptions: StepOptions = {},
  ): Promise<Result> {
    const what = `step ${JSON.stringify(name)}`;
    checkFunction(`the body of ${what}`, body, inAStep);
    checkOptions(what, stepOptions, optionsOfStep);
    const { retry, timeout, key, sensitiveKey: isSensitive } = stepOptions;
    const timeoutMs = timeout === undefined ? stepTimeoutMs : toMilliseconds(timeout, { field: "timeout" });
    const at = place(name, keyPart(what, { key, isSensitive, digest }));
    const result = await execution.demand(at, {
      kind: "step",
      body: (context: StepContext) => execution.call(placeName(at), () => body(context)),
      retry: resolveRetry(retry),
      timeoutMs,
      announces,
    });
    return result as Result; // the body's own result, through the codec
  }

  async function wait(
    kind: "signal" | "callback",
    at: ReturnType<typeof place>,
    name: string,
    waitOptions: WaitOptions = {},
  ): Promise<unknown> {
    const what = `the wait for ${kind} ${JSON.stringify(name)}`;
    checkOptions(what, waitOptions, optionsOfWait);
    const { timeout, onTimeout = "throw" } = waitOptions;
    if (onTimeout !== "throw" && onTimeout !== "null") {
      throw invalid(`onTimeout of ${what} is ${JSON.stringify(onTimeout)}`, 'Use "throw" or "null".');
    }
    const timeoutMs = timeout === undefined ? undefined : toMilliseconds(timeout, { field: "timeout" });
    const until = timeoutMs === undefined ? undefined : execution.now + timeoutMs;
    return execution.demand(at, { kind, name, until, timeoutMs, onTimeout });
  }

  async function close(name: string): Promise<boolean> {
    checkIsDeclared("signal", name, options.signals);
    const isClosed = (await execution.demand(place(name), { kind: "close", name })) === true;
    if (isClosed) closed.add(name);
    return isClosed;
  }

  /** `timeoutMs`: the timeout of its wait, if it is known already. */
  function callbackAt(
    name: string,
    at: ReturnType<typeof place>,
    question: Question = {},
    timeoutMs?: number,
  ): Callback<unknown> {
    checkIsDeclared("callback", name, options.callbacks);
    const { path, occurrence } = at;
    const endsAt = endOfToken(execution.now, timeoutMs === undefined ? undefined : execution.now + timeoutMs);
    let waiting: Promise<unknown> | undefined;
    return {
      ...sealCallback({ ...checkQuestion(question), name, path, occurrence, endsAt }),
      wait: (waitOptions?: WaitOptions) => {
        waiting ??= wait("callback", at, name, waitOptions);
        return waiting;
      },
    };
  }

  async function waitForCallback(
    name: string,
    announce: (context: CallbackContext) => unknown,
    waitOptions: WaitOptions & StepOptionsOfAnnouncement & Question = {},
  ): Promise<unknown> {
    const what = `callback ${JSON.stringify(name)}`;
    checkFunction(`what announces the ${what}`, announce, "({ url }) => email(url)");
    checkOptions(what, waitOptions, [...optionsOfWait, "retry", "title", "text"]);
    const { retry, title, text, ...wanted } = waitOptions;
    const timeoutMs =
      waitOptions.timeout === undefined ? undefined : toMilliseconds(waitOptions.timeout, { field: "timeout" });
    const question = { ...(title !== undefined && { title }), ...(text !== undefined && { text }) };
    const at = place(name);
    const callback = callbackAt(name, at, question, timeoutMs);
    const announcing = stepIn(options, { prefix: `${room(name)}/`, map: scope.map }, at);
    await announcing.run(
      "announce",
      async (context) => {
        await announce({ ...context, url: callback.url, token: callback.token });
      },
      retry === undefined ? {} : { retry },
    );
    return callback.wait(wanted);
  }

  function mapItems<Item, Result>(
    name: string,
    items: readonly Item[],
    each: (item: Item, context: { step: Step; index: number }) => Promise<Result>,
    mapOptions: MapOptions<Item>,
    failsFast: boolean,
  ): Promise<Result>[] {
    const what = `map ${JSON.stringify(name)}`;
    if (!Array.isArray(items)) throw invalid(`the items of ${what} are no array`, "Pass an array.");
    checkFunction(`what ${what} does with each item`, each, ofAnItem);
    checkOptions(what, mapOptions, optionsOfMap);
    const { maxConcurrency, key, sensitiveKey: isSensitive } = mapOptions;
    if (key !== undefined) checkFunction(`the key of ${what}`, key, "(item) => item.id");
    if (maxConcurrency !== undefined && (!Number.isInteger(maxConcurrency) || maxConcurrency < 1)) {
      throw invalid(`maxConcurrency is ${String(maxConcurrency)}`, "Use a whole number from 1 on, or leave it out.");
    }
    const parts = items.map((item: Item, index) =>
      key === undefined
        ? `[${index}]`
        : keyPart(`item ${index} of ${what}`, { key: key(item, index) ?? null, isSensitive, digest }),
    );
    const path = room(name);
    const taken = new Set<string>();
    for (const part of parts) {
      if (taken.has(part)) throw duplicateKey(path + part);
      taken.add(part);
    }
    const map: MapScope = { path, slots: maxConcurrency ?? null, failsFast };
    const results = items.map(async (item, index) => {
      if (execution.isOverfull) return await never;
      return each(item, { step: inside(`${path}${parts[index]}/`, map), index });
    });
    for (const result of results) result.catch(() => {}); // the first failure rejects the map; the others are not lost on anyone
    return results;
  }

  function branches<Result>(path: string, list: readonly Branch<Schemas, Schemas, Result>[]): Promise<Result>[] {
    const results = list.map(async (branch, index) => branch({ step: inside(`${path}[${index}]/`) }));
    for (const result of results) result.catch(() => {});
    return results;
  }

  const step: Step = {
    run,
    sleep: async (name, duration) => {
      const until = execution.now + toMilliseconds(duration, { field: "duration" });
      await execution.demand(place(name), { kind: "sleep", until });
    },
    sleepUntil: async (name, instant) => {
      const until = Math.ceil(Number(instant));
      if (Number.isNaN(new Date(until).getTime())) {
        throw invalid(`sleepUntil ${JSON.stringify(name)} got no valid time`, "Pass a Date, or epoch milliseconds.");
      }
      await execution.demand(place(name), { kind: "sleep", until });
    },
    waitForSignal: async (name: string, waitOptions?: WaitOptions) => {
      checkIsDeclared("signal", name, options.signals);
      if (closed.has(name)) {
        throw invalid(
          `the signal ${JSON.stringify(name)} is closed`,
          "Wait for it before step.close(…), not after it.",
        );
      }
      return wait("signal", place(name), name, waitOptions);
    },
    createCallback: (name, question) => callbackAt(name, place(name), question),
    waitForCallback,
    close,
    scope: async (name, body) => {
      checkFunction(`the body of scope ${JSON.stringify(name)}`, body, "({ step }) => …");
      return body({ step: inside(`${room(name)}/`) });
    },
    all: async <const Results extends readonly unknown[]>(name: string, list: Branches<Schemas, Schemas, Results>) => {
      checkBranches(`all ${JSON.stringify(name)}`, list);
      return (await Promise.all(branches(room(name), list))) as unknown as Results; // one result a branch, in their order
    },
    race: async <const Results extends readonly unknown[]>(name: string, list: Branches<Schemas, Schemas, Results>) => {
      checkBranches(`race ${JSON.stringify(name)}`, list);
      const path = room(name);
      try {
        return await Promise.race<Results[number]>(branches(path, list));
      } finally {
        execution.release(`${path}[`);
      }
    },
    map: async (name, items, each, mapOptions = {}) => Promise.all(mapItems(name, items, each, mapOptions, true)),
    mapSettled: async (name, items, each, mapOptions = {}) => {
      const { cancellation } = execution;
      const outcomes = await Promise.allSettled(mapItems(name, items, each, mapOptions, false));
      // It settles failures of items, and the end of the run is none.
      if (execution.cancellation !== cancellation) throw new CancelledError(execution.cancellation);
      return outcomes;
    },
    now: () => new Date(execution.now),
    random: () => toRandom(seeded("random")),
    uuid: () => toUuid(seeded("uuid")),
  };
  return handingOut(step, scope.prefix, execution.handedOut);
}

/** Stands for the items of a map that ends its run. A promise for each of 200,000 items would take a gigabyte. */
const never = new Promise<never>(() => {});

function duplicateKey(path: string): LayoverError {
  return new LayoverError("duplicate_key", `${path} is asked for twice, with the same key`, {
    hint: "Give each its own key: an id that no other step of this name has in this scope.",
    details: { path },
  });
}
