/** `layover doctor --aws`: what it says of a deployment on AWS, by what AWS says of that. */
import { expect, test } from "vitest";
import * as z from "zod";
import { layover } from "../cli/layover.ts";
import { secret } from "../platform/a-worker.ts";
import { testDatabase } from "../postgres/database.ts";
import { deploy } from "./a-deployment.ts";
import { operator } from "./authorize.ts";
import type { AwsCloud, CloudOptions } from "./cloud.ts";

const database = testDatabase();
const timeout = 60_000;
const Report = z.object({
  checks: z.array(z.object({ about: z.string(), level: z.string(), says: z.string(), todo: z.string().optional() })),
});

/** Asks as a person who may do everything. Answers the checks that are about AWS. */
async function doctor(cloud: AwsCloud, { name = cloud.template.output("Name"), key = operator } = {}) {
  const env = {
    DATABASE_URL: database.url,
    LAYOVER_URL: cloud.url,
    LAYOVER_SECRET: secret,
    AWS_ENDPOINT_URL: cloud.wire.endpoint,
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: "of no account",
    AWS_REGION: "eu-central-1",
  };
  const { stdout } = await layover(["doctor", "--json", "--aws", name], { env });
  const { checks } = Report.parse(JSON.parse(stdout));
  const begins = checks.findIndex(({ about }) => about === "functions" || about === "AWS");
  return checks.slice(begins);
}

async function aCloud(options: Partial<CloudOptions> = {}): Promise<AwsCloud> {
  return (await deploy(database, options)).cloud;
}

test("finds the functions, the concurrency and the parameters, and measures the schedules", { timeout }, async () => {
  const cloud = await aCloud();
  expect(await doctor(cloud)).toEqual([
    {
      about: "functions",
      level: "well",
      says: expect.stringMatching(/^All four are active, with the code [0-9a-f]{8}\.$/),
    },
    { about: "concurrency", level: "well", says: "The account may carry out 1000 invocations at a time." },
    { about: "parameters", level: "well", says: "/orders/secret, /orders/database-url, /orders/public-url are there." },
    {
      about: "schedules",
      level: "well",
      says: expect.stringMatching(/^Each of 3 was made in \d+ to \d+ ms, the first with a new connection\./),
    },
  ]);
  expect([...cloud.schedules.keys()].filter((name) => name.startsWith("layover-doctor-"))).toHaveLength(3);
});

test("warns of an account that carries out little at a time", { timeout }, async () => {
  const checks = await doctor(await aCloud({ concurrency: 10 }));
  expect(checks[1]).toMatchObject({ level: "warning", says: expect.stringContaining("10 invocations at a time") });
});

test("names the parameters that are missing, and how to make one, and tells no secret", { timeout }, async () => {
  const cloud = await aCloud({ parameters: { "/orders/secret": secret } });
  const checks = await doctor(cloud);
  expect(checks[2]).toMatchObject({
    level: "problem",
    says: "/orders/database-url is missing in Systems Manager.",
    todo: expect.stringContaining("--name /orders/database-url"),
  });
  expect(JSON.stringify(checks)).not.toContain(secret);
});

test("names a function that is not there, and where its name is found", { timeout }, async () => {
  const [functions] = await doctor(await aCloud(), { name: "elsewhere" });
  expect(functions).toMatchObject({
    level: "problem",
    says: expect.stringContaining("There is no function elsewhere-http, elsewhere-turns"),
    todo: expect.stringContaining("the output with Name in it"),
  });
});

test("says what credentials need, where AWS refuses", { timeout }, async () => {
  const [refused] = await doctor(await aCloud(), { key: "nobody" });
  expect(refused).toMatchObject({
    about: "AWS",
    level: "problem",
    says: expect.stringContaining("AccessDeniedException"),
    todo: expect.stringContaining("lambda:GetFunctionConfiguration"),
  });
});
