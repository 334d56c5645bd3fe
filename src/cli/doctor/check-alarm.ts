/** Asks the stand-alone alarm of the deployment how it is, where LAYOVER_ALARM says that there is one. */
import { LayoverError } from "../../core/errors.ts";
import { overdueMs } from "../../core/waking.ts";
import { type AlarmAddress, type AlarmStatus, alarmAddress, statusRequest } from "../../http/alarm.ts";
import { Secrets } from "../../http/secrets.ts";
import { rootSecrets, setting } from "../settings.ts";
import { clockTime } from "../times.ts";
import type { Check } from "./check.ts";

const about = "alarm";
const answerMs = 10_000;

export async function checkAlarm(): Promise<readonly Check[]> {
  const text = setting("LAYOVER_ALARM");
  if (text === undefined || setting("LAYOVER_SECRET") === undefined) return [];
  try {
    const address = alarmAddress(text);
    return [await ask(address, new Secrets(rootSecrets()))];
  } catch (error) {
    const { message, hint } = error instanceof LayoverError ? error : { message: String(error), hint: undefined };
    const todo = hint ?? "Look at LAYOVER_ALARM, and whether the Worker is deployed: npx wrangler deploy";
    return [{ about, level: "problem", says: `The alarm at ${text} cannot be asked: ${message}.`, todo }];
  }
}

async function ask({ url, app }: AlarmAddress, secrets: Secrets): Promise<Check> {
  const request = statusRequest({ secrets, app, nowMs: Date.now() });
  const response = await fetch(`${url}/status`, {
    ...request,
    redirect: "manual",
    signal: AbortSignal.timeout(answerMs),
  });
  if (response.status === 200) return told((await response.json()) as AlarmStatus);
  await response.body?.cancel();
  const says = `The alarm at ${url} has answered ${response.status}.`;
  if (response.status !== 401)
    return { about, level: "problem", says, todo: "Look at LAYOVER_ALARM, and at the log of the Worker." };
  const secret = `${app.replaceAll("-", "_").toUpperCase()}_KEY`;
  const todo = `Name ${app} under APPS in its wrangler.toml, and give it the key: npx layover keys alarm, then npx wrangler secret put ${secret}`;
  return { about, level: "problem", says: `${says} It does not know ${app}, or has another key.`, todo };
}

function told(status: AlarmStatus): Check {
  const { url, now, standing, nextRingAt, answeredAt, failures, lastFailure, parkedAt } = status;
  const facts = { ...status };
  const at = (instant: number) => clockTime(new Date(instant));
  const failing = `${failures === 1 ? "The last ring" : `The last ${failures} rings`} at ${url} failed: ${lastFailure}.`;
  if (parkedAt !== null)
    return {
      about,
      level: "problem",
      says: `It has not rung at ${url} since ${at(parkedAt)}, as nothing was there: ${lastFailure}.`,
      todo: "Correct the address under APPS in its wrangler.toml. It rings again when the deployment arms something, as a start does.",
      facts,
    };
  if (failures > 0)
    return {
      about,
      level: "problem",
      says: failing,
      todo: "See that the deployment is up, and reachable there.",
      facts,
    };
  if (nextRingAt !== null && nextRingAt + overdueMs < now)
    return {
      about,
      level: "problem",
      says: `It should have rung at ${at(nextRingAt)}, and has not.`,
      todo: "See that the Worker has its cron trigger, each minute: it sets a lost alarm again.",
      facts,
    };
  const rang = answeredAt === null ? "It has not rung yet" : `It last rang at ${at(answeredAt)}`;
  const next = nextRingAt === null ? "nothing was armed yet" : `the next ring is at ${at(nextRingAt)}`;
  return { about, level: "well", says: `${rang}; ${standing} instants stand, ${next}.`, facts };
}
