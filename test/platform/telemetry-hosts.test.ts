/**
 * One order over several invocations of two hosts, in a receiver that speaks OTLP over HTTP. The real exporter sends to it,
 * and each invocation ends only once its spans are there.
 */
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { workflow } from "layover";
import { serve as serveFetch } from "layover/fetch";
import { telemetry } from "layover/telemetry";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import type { LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { functionsOf } from "../../src/platform/lambda/serve.ts";
import { hostClock } from "../../src/postgres/host-clock.ts";
import { testDatabase } from "../postgres/database.ts";
import { authorized, secret } from "./a-worker.ts";
import { attributeOf, openCollector, type Span } from "./collector.ts";
import { lambdaContext, lambdaEnv, postTo, quietServices } from "./lambda-ground.ts";

const database = testDatabase({ isOwn: true });

const traceId = "0af7651916cd43dd8448eb211c80319c";
const caller = "b7ad6b7169203331";
const url = "https://orders.example";

const urls: string[] = [];
const order = workflow({ name: "order", version: 1, callbacks: { approval: z.object({ ok: z.boolean() }) } });
const workflows = [
  order.handler(async ({ step }) => {
    await step.run("charge", () => "charged");
    await step.waitForCallback("approval", (made) => void urls.push(made.url));
    for (const what of ["pack", "ship", "thank"]) await step.run(what, () => what);
  }),
];

const collector = await openCollector();
const { spans: received, types } = collector;
const exporter = new OTLPTraceExporter({ url: collector.url });
const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(provider);

afterAll(() => collector.close());
beforeEach(() => {
  for (const list of [received, types, urls]) list.length = 0;
});

/** Its waits are over soon. */
const hurried = { ...hostClock, after: (ms: number, act: () => void) => hostClock.after(Math.min(ms, 20), act) };

function onLambda(flush: () => Promise<unknown>, onError?: (error: unknown) => void) {
  const invoked: unknown[] = [];
  const of = functionsOf(
    {
      workflows,
      database: () => database.query,
      invocation: { maxSteps: 1 },
      telemetry: telemetry({ flush }),
      ...(onError !== undefined && { onError }),
    },
    {
      host: onError === undefined ? hostClock : hurried,
      env: lambdaEnv,
      engine: {},
      services: quietServices(url, invoked),
    },
  );
  return { of, invoked };
}

function onFetch(flush: () => Promise<unknown>, onError?: (error: unknown) => void) {
  return serveFetch({
    workflows,
    database: () => database.query,
    secrets: () => [secret],
    publicUrl: () => url,
    telemetry: telemetry({ flush }),
    ...(onError !== undefined && { onError }),
  });
}

function startRequest(): Request {
  const headers = { ...authorized, traceparent: `00-${traceId}-${caller}-01` };
  return new Request(`${url}/v1/workflows/order/runs`, { method: "POST", headers, body: "{}" });
}

async function approve(of: LambdaFunctions): Promise<void> {
  const { pathname } = new URL(urls[0] ?? "");
  const headers = { "content-type": "application/json" };
  expect(await postTo(of, { path: pathname, headers, body: '{"ok": true}' })).toBe(200);
}

function below(parentId: string): Span[] {
  return received.filter(({ parentSpanId }) => parentSpanId === parentId);
}

test("one order over five invocations of two hosts is one tree, and each invocation has sent its spans before it ends", async () => {
  const flush = () => provider.forceFlush();
  const fetched = onFetch(flush);
  const { of, invoked } = onLambda(flush);

  const started = await fetched(startRequest());
  expect(started.status).toBe(201);
  const { runId } = await started.json();
  expect(received.length).toBeGreaterThan(2);
  await approve(of);
  let invocations = 2;
  while (invoked.length > 0) {
    const before = received.length;
    await of.turns(invoked.shift(), lambdaContext);
    expect(received.length).toBeGreaterThan(before);
    invocations += 1;
  }
  expect(invocations).toBe(5);

  expect(new Set(types)).toEqual(new Set(["/v1/traces application/json"]));
  expect(new Set(received.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(new Set(received.map((span) => attributeOf(span, "layover.run.id")))).toEqual(new Set([runId]));
  const tree = below(caller).map((span) => ({
    name: span.name,
    host: attributeOf(span, "layover.deployment.name"),
    steps: below(span.spanId).map(({ name }) => name),
  }));
  expect(tree.filter(({ name }) => name.startsWith("wait"))).toHaveLength(1);
  expect(tree.flatMap(({ host, steps }) => steps.map((step) => `${host}: ${step}`))).toEqual([
    "fetch: step charge",
    "fetch: step approval/announce",
    "lambda: step pack",
    "lambda: step ship",
    "lambda: step thank",
  ]);
  const lambdaTurns = below(caller).filter((span) => attributeOf(span, "layover.deployment.name") === "lambda");
  expect(lambdaTurns.map((span) => attributeOf(span, "faas.invocation_id"))).toEqual(
    lambdaTurns.map(() => "request-1"),
  );
  expect(new Set(received.map(({ spanId }) => spanId)).size).toBe(received.length);
});

describe("a collector", () => {
  test("that refuses is a line of the log, and fails no turn", async () => {
    const errors: unknown[] = [];
    const fetched = onFetch(
      () => Promise.reject(new Error("the collector is down")),
      (error) => errors.push(error),
    );
    expect((await fetched(startRequest())).status).toBe(201);
    expect(errors).toMatchObject([{ message: "the collector is down" }]);
    expect(urls).toHaveLength(1); // the run has got to its callback
  });

  test("that never answers holds an invocation for two seconds, and no longer", async () => {
    const errors: unknown[] = [];
    const { of, invoked } = onLambda(
      () => new Promise(() => {}),
      (error) => errors.push(error),
    );
    expect((await onFetch(async () => {})(startRequest())).status).toBe(201);
    await approve(of);
    await of.turns(invoked.shift(), lambdaContext);
    expect(errors).toMatchObject([{ message: "the option `flush` of telemetry took longer than 2 s" }]);
  });

  test("is not asked where nothing was gathered", async () => {
    let flushes = 0;
    const fetched = onFetch(async () => {
      flushes += 1;
    });
    expect((await fetched(new Request(`${url}/health`))).status).toBe(200);
    expect(flushes).toBe(0);
    await fetched(startRequest());
    expect(flushes).toBe(1);
  });
});
