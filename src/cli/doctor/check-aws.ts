/** Checks a deployment on AWS by AWS' own account of it, and measures what only AWS can show: how long a schedule takes to make. */
import { randomUUID } from "node:crypto";
import { minuteMs } from "../../core/waking.ts";
import type { FunctionFacts } from "./aws-account.ts";
import type { Check } from "./check.ts";

const handlers = ["http", "turns", "tick", "forward"] as const;

/** A new account carries out ten invocations at a time. A tick that waits behind them is late. */
const enoughConcurrency = 100;

/** How many schedules are made to see how long that takes. */
const measured = 3;

type Variables = Readonly<Record<string, string | undefined>>;

/** `name`: that of the deployment, which `cdk deploy` prints. */
export async function checkAws(name: string): Promise<readonly Check[]> {
  try {
    const { functionOf, freeConcurrency } = await import("./aws-account.ts");
    const facts = await Promise.all(handlers.map((handler) => functionOf(`${name}-${handler}`)));
    const functions = checkFunctions(name, facts);
    const concurrency = checkConcurrency(await freeConcurrency());
    const variables = facts.find(({ found }) => found !== undefined)?.found?.variables;
    if (variables === undefined) return [functions, concurrency];
    return [functions, concurrency, await checkParameters(variables), await measureSchedules(variables)];
  } catch (error) {
    return [notAsked(error)];
  }
}

function checkFunctions(name: string, facts: readonly FunctionFacts[]): Check {
  const about = "functions";
  const missing = handlers.filter((_, index) => facts[index]?.found === undefined);
  if (missing.length > 0)
    return {
      about,
      level: "problem",
      says: `There is no function ${missing.map((handler) => `${name}-${handler}`).join(", ")} in this account and region.`,
      todo: "Give the name that cdk deploy prints, the output with Name in it; and set AWS_REGION to the stack's region.",
    };
  const busy = handlers.filter((_, index) => facts[index]?.found?.isReady === false);
  if (busy.length > 0)
    return {
      about,
      level: "problem",
      says: `AWS has not brought up ${busy.map((handler) => `${name}-${handler}`).join(", ")} with the code that was deployed last.`,
      todo: "Wait for a minute and ask again. If it stays so, look at the stack's events in CloudFormation.",
    };
  const deployments = new Set(facts.map(({ found }) => found?.variables["LAYOVER_DEPLOYMENT"]));
  if (deployments.size > 1)
    return {
      about,
      level: "problem",
      says: "The four functions are of different deployments.",
      todo: "Deploy again: cdk deploy",
    };
  return {
    about,
    level: "well",
    says: `All four are active, with the code ${[...deployments][0]?.slice(0, 8) ?? "of their own"}.`,
  };
}

function checkConcurrency(free: number | undefined): Check {
  const about = "concurrency";
  const facts = { free };
  if (free === undefined)
    return {
      about,
      level: "warning",
      says: "AWS does not tell how many invocations the account may carry out at a time.",
      facts,
    };
  if (free < enoughConcurrency)
    return {
      about,
      level: "warning",
      says: `The account may carry out ${free} invocations at a time. When many runs wake together, the others wait, and so may a tick: then runs are later than 3 minutes.`,
      todo: "Ask AWS for 1,000, in Service Quotas: AWS Lambda, Concurrent executions.",
      facts,
    };
  return { about, level: "well", says: `The account may carry out ${free} invocations at a time.`, facts };
}

async function checkParameters(variables: Variables): Promise<Check> {
  const about = "parameters";
  const path = (variables["LAYOVER_PARAMETERS"] ?? "").replace(/\/+$/, "");
  const names = ["secret", "database-url", "public-url"].map((name) => `${path}/${name}`);
  const { parameters } = await import("../../platform/lambda/aws/parameters.ts");
  const found = await parameters(names, { abortSignal: AbortSignal.timeout(10_000) });
  const missing = names.filter((name) => !found.has(name));
  if (missing.length === 0) return { about, level: "well", says: `${names.join(", ")} are there.` };
  return {
    about,
    level: "problem",
    says: `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} missing in Systems Manager.`,
    todo: `Make each: aws ssm put-parameter --type SecureString --name ${missing[0]} --value …`,
  };
}

/** Each rings for one tick more, which finds nothing. */
async function measureSchedules(variables: Variables): Promise<Check> {
  const about = "schedules";
  const { schedule } = await import("../../platform/lambda/aws/schedule.ts");
  const of = (name: string) => variables[name] ?? "";
  const took: number[] = [];
  for (let count = 0; count < measured; count += 1) {
    const began = performance.now();
    await schedule(
      {
        name: `layover-doctor-${randomUUID()}`,
        group: of("LAYOVER_SCHEDULE_GROUP"),
        at: (Math.floor(Date.now() / minuteMs) + 2) * minuteMs,
        target: of("LAYOVER_TICK"),
        role: of("LAYOVER_SCHEDULE_ROLE"),
        input: "{}",
        deadLetters: of("LAYOVER_QUEUE_ARN"),
      },
      { abortSignal: AbortSignal.timeout(10_000) },
    );
    took.push(Math.round(performance.now() - began));
  }
  const facts = { ms: took };
  const says = `Each of ${measured} was made in ${Math.min(...took)} to ${Math.max(...took)} ms, the first with a new connection. Each rings for a tick more.`;
  return { about, level: "well", says, facts };
}

/** AWS refused a question, or could not be asked. */
function notAsked(error: unknown): Check {
  const about = "AWS";
  const { code, name, message }: { code?: unknown; name?: unknown; message?: unknown } = Object(error);
  if (code === "ERR_MODULE_NOT_FOUND")
    return {
      about,
      level: "problem",
      says: "AWS' clients are not installed here.",
      todo: "Run: npm install @aws-sdk/client-lambda @aws-sdk/client-scheduler @aws-sdk/client-ssm",
    };
  return {
    about,
    level: "problem",
    says: `AWS was not asked, or refused: ${String(name)}: ${String(message)}`,
    todo: "Set AWS_PROFILE or other credentials, and AWS_REGION. They need lambda:GetFunctionConfiguration, lambda:GetAccountSettings, ssm:GetParameters, scheduler:CreateSchedule and iam:PassRole.",
  };
}
