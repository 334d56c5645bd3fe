/** What `serve` has read of its options when the module of the functions is loaded, and what begins each invocation. */

import { LayoverError } from "../../core/errors.ts";
import { checkNamespace, defaultEnvironment } from "../../core/names.ts";
import type { WallClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import { withinTheMinute } from "../../core/waking.ts";
import { codeDigest } from "../../engine/digest.ts";
import { type Report, reportTo, type Tell } from "../../engine/events.ts";
import { checkLeaseMs, type Deployment, defaults, type EngineOptions } from "../../engine/options.ts";
import { Registry } from "../../engine/registry.ts";
import { prefixOf } from "../../http/prefix.ts";
import { checkWebhooks } from "../../http/webhooks/mount.ts";
import { beginInvocation, type HostedInvocation, type InvocationOptions } from "../invocation/begin-invocation.ts";
import type { InvocationHost } from "../invocation/host.ts";
import { printEvent, printLog } from "../log/print-objects.ts";
import { printingHooks } from "../log/printing-hooks.ts";
import type { Services } from "./aws/services.ts";
import { type AwsNames, nameOf } from "./aws/settings.ts";
import { Environment, type Loaded } from "./environment.ts";
import { InvokeDispatch } from "./invoke-dispatch.ts";
import type { LambdaContext, LambdaOptions } from "./options.ts";
import { Parameters } from "./parameters.ts";
import { Schedules } from "./schedules.ts";

/** What a Lambda function takes from where it runs. A test plays another one. */
export interface LambdaRuntime {
  readonly host: WallClock;
  readonly services: Services;
  /** Sends requests to other deployments. Default: `fetch`. */
  readonly send?: typeof fetch | undefined;
  /** The variables of the function. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly engine: Pick<EngineOptions, "atRest" | "claimBytes" | "newToken" | "random">;
}

/** What differs between the deployment's own functions and another one's client. */
export interface ServedTerms {
  /** The parameters that layover itself reads. */
  readonly ownParameters: readonly string[];
  /** How long before its end an invocation begins nothing more, so that what is under way can end. */
  readonly marginMs: number;
}

const ownTerms: ServedTerms = {
  ownParameters: ["secret", "secret-old", "public-url", "database-url"],
  marginMs: 10_000,
};

/**
 * The steps of all turns of an invocation together, and how long it goes on beginning new ones. So their statements and
 * invocations are few, and a step that begins last still has nearly all the time that the function has.
 */
const carrying = { maxSteps: 10, budgetMs: 5_000 };

const defaultBatch = 10;

export interface ServedFunctions {
  readonly options: LambdaOptions;
  readonly runtime: LambdaRuntime;
  readonly namespace: string;
  readonly environmentName: string;
  readonly prefix: string;
  readonly environment: Environment;
  readonly deployment: Deployment;
  readonly schedules: () => Schedules;
  readonly nameOf: (name: keyof AwsNames) => string;
  readonly tell: Tell;
  readonly report: Report;
  /** The instant at which the invocation must have nothing more to begin, in epoch milliseconds of the host's clock. */
  readonly endOf: (context: LambdaContext) => number;
  readonly begin: (
    loaded: Loaded,
    context: LambdaContext,
    options: Omit<InvocationOptions, "until">,
  ) => HostedInvocation;
}

/**
 * @throws LayoverError `duplicate_workflow`, `invalid_name` for the namespace, `invalid_duration` for `leaseMs`,
 *   `invalid_request` for `batch` and `parameters`
 */
export function servedFunctions(
  options: LambdaOptions,
  runtime: LambdaRuntime,
  { ownParameters, marginMs }: ServedTerms = ownTerms,
): ServedFunctions {
  const { host, env } = runtime;
  const { onEvent: tell } = printingHooks(options, { printLog, printEvent });
  const registry = new Registry(options.workflows, options.schedules);
  checkWebhooks(options.webhooks, { noQueue: undefined });
  const namespace = checkNamespace(options.namespace ?? "default");
  checkLeaseMs(options.leaseMs);
  const batch = checkBatch(options.batch ?? defaultBatch);
  const named = (name: keyof AwsNames) => nameOf(env, name);
  const names = parameterNames([...ownParameters, ...(options.parameters ?? [])]);
  const environment = new Environment(options, parametersOf(runtime, named, names), host);
  const known = {
    options,
    runtime,
    namespace,
    environmentName: options.environment ?? env["LAYOVER_ENVIRONMENT"] ?? defaultEnvironment,
    prefix: prefixOf(options.prefix),
    environment,
    deployment: {
      name: options.deploymentName ?? "lambda",
      id: options.deployment ?? env["LAYOVER_DEPLOYMENT"] ?? codeDigest(options.workflows, options.schedules),
    },
    schedules: () => schedulesOf(runtime, named, environment),
    nameOf: named,
    tell,
    report: reportTo(tell),
    endOf: (context: LambdaContext) => host.now() + context.getRemainingTimeInMillis() - marginMs,
  };
  return {
    ...known,
    begin: (loaded, context, asked) => {
      const until = known.endOf(context);
      const invocationHost = invocationHostOf(known, { registry, batch }, loaded, until);
      return beginInvocation(invocationHost, { ...asked, until: () => until, requestId: context.awsRequestId });
    },
  };
}

/** What an invocation works with, until the instant `until`. */
function invocationHostOf(
  served: Omit<ServedFunctions, "begin">,
  { registry, batch }: { readonly registry: Registry; readonly batch: number },
  { secrets, publicUrl, database }: Loaded,
  until: number,
): InvocationHost {
  const { options, runtime, environment, schedules, nameOf, tell } = served;
  const { host, services } = runtime;
  const { leaseMs = defaults.leaseMs, keepMs, keepFailedMs, telemetry } = options;
  const invocation = { ...carrying, ...options.invocation };
  const leftMs = Math.max(1_000, until - host.now());
  return {
    engine: {
      ...runtime.engine,
      registry,
      timeOfDay: () => host.now(),
      keepMs,
      keepFailedMs,
      telemetry,
      onEvent: tell,
      warmRuns: 0,
      leaseMs: Math.min(leaseMs, Math.floor(leftMs)),
      longestStepMs: leftMs - invocation.budgetMs,
    },
    namespace: served.namespace,
    environment: served.environmentName,
    deployment: served.deployment,
    host,
    send: runtime.send,
    clock: environment.clock,
    guess: () => environment.guess(),
    secrets,
    publicUrl,
    database: () => database,
    invocation,
    alarm: (instants) => schedules().alarm(instants),
    pace: withinTheMinute,
    isDispatchedHere: true,
    dispatcherOf: (terms) =>
      new InvokeDispatch({
        ...terms,
        services,
        turns: nameOf("turns"),
        queueUrl: () => nameOf("queueUrl"),
        batch,
        armed: () => environment.armed.next(),
      }),
    report: served.report,
  };
}

type NameOf = ServedFunctions["nameOf"];

function parametersOf({ services, host, engine }: LambdaRuntime, nameOf: NameOf, names: readonly string[]): Parameters {
  return new Parameters({
    services,
    path: () => nameOf("parameters").replace(/\/+$/, ""),
    names,
    host,
    random: engine.random ?? Math.random,
  });
}

function schedulesOf({ services, host }: LambdaRuntime, nameOf: NameOf, { armed }: Environment): Schedules {
  return new Schedules({
    services,
    names: {
      tick: nameOf("tick"),
      scheduleGroup: nameOf("scheduleGroup"),
      scheduleRole: nameOf("scheduleRole"),
      queueArn: nameOf("queueArn"),
    },
    armed,
    host,
  });
}

/** Waits, by the clock of the host. */
export async function waitUntil({ host }: LambdaRuntime, at: number): Promise<void> {
  const ms = at - host.now();
  if (ms > 0) await pause(host, ms);
}

function parameterNames(all: readonly string[]): readonly string[] {
  const names = [...new Set(all)];
  if (names.length <= 10) return names;
  throw new LayoverError("invalid_request", `parameters: there are ${names.length} names, with layover's own`, {
    hint: "Systems Manager reads ten parameters in one call. Give up to six names.",
    details: { field: "parameters" },
  });
}

function checkBatch(batch: number): number {
  if (Number.isInteger(batch) && batch >= 1 && batch <= 1_000) return batch;
  throw new LayoverError("invalid_request", `batch: ${batch} is no number of turns`, {
    hint: "Give a whole number from 1 to 1,000.",
    details: { field: "batch" },
  });
}
