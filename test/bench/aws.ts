/**
 * How long the real bundle takes on this machine: cold, with what the time goes into, and warm.
 *
 *   npm run bench:aws
 *
 * The functions are as the construct bundles and deploys them, in processes that speak Lambda's Runtime API. Postgres is real, behind
 * Neon's endpoint; AWS' services answer at once. Lambda itself adds the time that it takes to get a machine.
 */
import { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { AwsCloud } from "../aws/cloud.ts";
import type { Invoked } from "../aws/cloud-functions.ts";
import { synthesize } from "../aws/synth.ts";
import { deployWhole, type Whole } from "../aws/whole.ts";
import { tellUsage } from "../usage.ts";

const rounds = 9;
const input = {
  customer: "Ada",
  amount: 42,
  items: ["lamp"],
  address: { street: "1 Rose St", city: "London" },
};

/** A start over HTTP, and the first turn that follows from it. Both functions are frozen in between, as on Lambda. */
async function start({ cloud, api }: Whole): Promise<{ http: Invoked; turns: Invoked; hopMs: number }> {
  const from = cloud.invoked.length;
  const began = performance.now();
  const { status, body } = await api("POST", "/v1/workflows/order/runs", { input });
  if (status !== 201) throw new Error(`a start was answered ${status}: ${JSON.stringify(body)}`);
  const turns = await ended(cloud, "turns", from);
  const hopMs = performance.now() - began;
  return { http: await ended(cloud, "http", from), turns, hopMs };
}

async function ended(cloud: AwsCloud, name: string, from: number): Promise<Invoked> {
  for (;;) {
    const found = cloud.invoked.slice(from).find((each) => each.name === name);
    if (found?.error !== undefined) throw new Error(`${name} failed: ${found.error}`);
    if (found !== undefined) return found;
    await delay(1);
  }
}

function median(values: readonly number[]): string {
  const middle = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  return `${Math.round(middle)} ms`;
}

function gzippedKb(folder: string): number {
  const pieces = readdirSync(folder).filter((name) => name.endsWith(".mjs"));
  return (
    Math.round(
      pieces.reduce((sum, name) => sum + gzipSync(Buffer.from(readFileSync(join(folder, name)))).length, 0) / 100,
    ) / 10
  );
}

tellUsage(import.meta.url);
const whole = await deployWhole({ entry: "functions/lambda.ts" });
try {
  const cold: Awaited<ReturnType<typeof start>>[] = [];
  const warm: typeof cold = [];
  for (let round = 0; round < rounds; round++) {
    for (const name of ["http", "turns", "tick", "forward"]) whole.cloud.kill(name);
    await delay(200);
    cold.push(await start(whole));
    warm.push(await start(whole));
  }
  const isMixed =
    cold.some(({ http, turns }) => !http.isCold || !turns.isCold) ||
    warm.some(({ http, turns }) => http.isCold || turns.isCold);
  if (isMixed) throw new Error("an invocation that was to be cold was warm, or the other way round");
  console.table({
    "http, a start": { cold: median(cold.map(({ http }) => http.ms)), warm: median(warm.map(({ http }) => http.ms)) },
    "… of it the bundle": { cold: median(cold.map(({ http }) => http.initMs)), warm: "" },
    "turns, the first steps": {
      cold: median(cold.map(({ turns }) => turns.ms)),
      warm: median(warm.map(({ turns }) => turns.ms)),
    },
    "… of it its bundle": { cold: median(cold.map(({ turns }) => turns.initMs)), warm: "" },
    "a start until its first turn has ended": {
      cold: median(cold.map(({ hopMs }) => hopMs)),
      warm: median(warm.map(({ hopMs }) => hopMs)),
    },
  });
  console.log(`the bundle, gzipped: ${gzippedKb(synthesize("functions/lambda.ts").code)} kB`);
} finally {
  await whole.end();
}
