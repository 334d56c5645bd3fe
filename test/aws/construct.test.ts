/** What the construct of `layover/cdk` deploys. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Aspects } from "aws-cdk-lib";
import { Annotations, Template as Assertions, Match } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { Layover } from "layover/cdk";
import { beforeAll, describe, expect, test } from "vitest";
import { type Synthesized, synthesize } from "./synth.ts";

let synthesized: Synthesized;
let assertions: Assertions;
beforeAll(() => {
  synthesized = synthesize("functions/lambda.ts");
  assertions = Assertions.fromStack(synthesized.stack);
});

/** Hides what changes with each change of the code. */
function masked(template: unknown): string {
  return JSON.stringify(template, null, 1)
    .replace(/[0-9a-f]{64}/g, "HASH")
    .replace(/CurrentVersion[0-9A-F]{8}[0-9a-f]{32}/g, "CurrentVersionHASH");
}

test("the template is the one that was looked at last", async () => {
  await expect(masked(synthesized.template)).toMatchFileSnapshot("template.snapshot");
});

describe("a function", () => {
  const functions = () =>
    Object.values(assertions.findResources("AWS::Lambda::Function")).map(({ Properties }) => Properties);

  test("has the newest Node, on ARM, with logs as JSON that are deleted in the end", () => {
    const ours = functions().filter(({ Handler }) => /^index\.(http|turns|tick|forward)$/.test(Handler));
    expect(ours).toHaveLength(4);
    for (const properties of ours) {
      expect(properties).toMatchObject({
        Architectures: ["arm64"],
        Runtime: "nodejs24.x",
        LoggingConfig: { LogFormat: "JSON", LogGroup: expect.anything() },
        RecursiveLoop: "Allow",
      });
    }
    assertions.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 30 });
  });

  test("is named without a version wherever others invoke it, since a version is gone with the next deploy", () => {
    const names = functions().flatMap(({ Environment }) => Object.values(Environment?.Variables ?? {}));
    expect(JSON.stringify(names)).not.toContain("CurrentVersion");
    expect(JSON.stringify(assertions.findResources("AWS::Scheduler::Schedule"))).not.toContain("CurrentVersion");
  });

  test("that carries out turns is not invoked again by Lambda", () => {
    assertions.hasResourceProperties("AWS::Lambda::EventInvokeConfig", {
      FunctionName: { Ref: Match.stringLikeRegexp("Turns") },
      MaximumEventAgeInSeconds: 900,
      MaximumRetryAttempts: 0,
    });
  });

  test("that ticks is, and its event goes to the queue at last", () => {
    assertions.hasResourceProperties("AWS::Lambda::EventInvokeConfig", {
      FunctionName: { Ref: Match.stringLikeRegexp("Tick") },
      MaximumRetryAttempts: 2,
      DestinationConfig: { OnFailure: { Destination: Match.anyValue() } },
    });
  });

  test("that answers requests may be called by everybody: since late 2025 that takes two permissions", () => {
    for (const action of ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"])
      assertions.hasResourceProperties("AWS::Lambda::Permission", { Action: action, Principal: "*" });
  });
});

test("a tick follows each deploy, once everything is there that it needs", () => {
  assertions.hasResource("Custom::Trigger", { Properties: { InvocationType: "Event" } });
  const after = JSON.stringify(
    Object.values(assertions.findResources("Custom::Trigger")).map(({ DependsOn }) => DependsOn),
  );
  for (const what of ["Http", "Turns", "Tick", "Forward", "Schedules", "ScheduleRole", "PublicUrl"])
    expect(after).toContain(`Layover${what}`);
});

test("a message of the queue is tried for twelve hours, since each try that finds no concurrency counts as well", () => {
  const queues = Object.values(assertions.findResources("AWS::SQS::Queue")).map(({ Properties }) => Properties);
  const [tried] = queues.filter(({ RedrivePolicy }) => RedrivePolicy !== undefined);
  const { VisibilityTimeout, RedrivePolicy, MessageRetentionPeriod } = tried ?? {};
  expect(VisibilityTimeout * RedrivePolicy.maxReceiveCount).toBeGreaterThanOrEqual(12 * 3_600);
  expect(VisibilityTimeout * RedrivePolicy.maxReceiveCount).toBeLessThan(MessageRetentionPeriod);
});

test("a request may have a concurrency of its own, and an address that is not the function's", () => {
  const { stack } = synthesize("functions/lambda.ts", {
    httpConcurrency: 5,
    functionUrl: false,
    publicUrl: "https://api.example.com",
  });
  const own = Assertions.fromStack(stack);
  own.hasResourceProperties("AWS::Lambda::Function", { Handler: "index.http", ReservedConcurrentExecutions: 5 });
  own.hasResourceProperties("AWS::SSM::Parameter", { Name: "/orders/public-url", Value: "https://api.example.com" });
  own.resourceCountIs("AWS::Lambda::Url", 0);
});

test("without an address of its own it needs one", () => {
  expect(() => synthesize("functions/lambda.ts", { functionUrl: false })).toThrow("publicUrl");
});

test("the errors and warnings in the logs of all functions are counted, and cost nothing while there are none", () => {
  const filters = Object.values(assertions.findResources("AWS::Logs::MetricFilter")).map(
    ({ Properties }) => Properties,
  );
  const counted = filters.map(({ FilterPattern, MetricTransformations: [made] }) => [FilterPattern, made.MetricName]);
  expect(Map.groupBy(counted, String)).toEqual(
    new Map([
      ['{ $.level = "ERROR" },LoggedErrors', Array(4).fill(['{ $.level = "ERROR" }', "LoggedErrors"])],
      ['{ $.level = "WARN" },LoggedWarnings', Array(4).fill(['{ $.level = "WARN" }', "LoggedWarnings"])],
    ]),
  );
  expect(filters.filter(({ MetricTransformations: [made] }) => "DefaultValue" in made)).toEqual([]);
  const metric = Object.values(synthesized.stack.node.children).find((child) => child instanceof Layover);
  const { namespace, metricName } = metric?.metricLoggedErrors() ?? {};
  expect({ namespace, metricName }).toEqual({
    namespace: filters[0]?.MetricTransformations[0].MetricNamespace,
    metricName: "LoggedErrors",
  });
});

test("cdk-nag finds one thing, which has its reason", () => {
  const { stack } = synthesize("functions/lambda.ts");
  Aspects.of(stack).add(new AwsSolutionsChecks());
  const all = [
    ...Annotations.fromStack(stack).findError("*", Match.anyValue()),
    ...Annotations.fromStack(stack).findWarning("*", Match.anyValue()),
  ].map(({ id, entry }) => `${id.split("/")[3]}: ${/^AwsSolutions-\w+/.exec(String(entry.data))?.[0] ?? entry.data}`);
  // A schedule's name has its minute in it, so nobody knows it before. The group is the deployment's own.
  expect(all).toEqual(["HttpRole: AwsSolutions-IAM5", "TurnsRole: AwsSolutions-IAM5", "TickRole: AwsSolutions-IAM5"]);
});

test("the bundle stays small, and a cold start loads none of AWS' clients", () => {
  const pieces = readdirSync(synthesized.code).filter((name) => name.endsWith(".mjs"));
  const textOf = (name: string) => readFileSync(join(synthesized.code, name), "utf8");
  const loaded = new Set<string>();
  const load = (name: string) => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const [, piece = ""] of textOf(name).matchAll(/(?:from|import)\s*"\.\/([^"]+\.mjs)"/g)) load(piece);
  };
  load("index.mjs");
  const kB = (names: Iterable<string>) =>
    Math.round([...names].reduce((sum, name) => sum + gzipSync(textOf(name)).length, 0) / 100) / 10;
  console.log("the bundle, gzipped, in kB:", { all: kB(pieces), "loaded by a cold start": kB(loaded) });
  expect([...loaded].map(textOf).join()).not.toContain("CreateScheduleCommand");
  // Of this, some 200 kB are what AWS' four clients have in common and apart, and most of that is never loaded.
  expect(kB(pieces)).toBeLessThanOrEqual(381);
  expect(kB(loaded)).toBeLessThanOrEqual(183);
});
