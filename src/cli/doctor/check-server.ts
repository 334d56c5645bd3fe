/** Checks that the server of the deployment answers, and takes the key. */

import { Api } from "../../client/over-http/api.ts";
import { LayoverError } from "../../core/errors.ts";
import { openApiKey, readApiKey } from "../../http/api-key.ts";
import { Secrets } from "../../http/secrets.ts";
import { keyHint } from "../runs/server.ts";
import { apiKey, devKey, environment, namespace, rootSecrets, serverUrl, setting } from "../settings.ts";
import { clockTime } from "../times.ts";
import type { Check } from "./check.ts";

export async function checkServer(revokedKeys: ReadonlySet<string>): Promise<readonly Check[]> {
  const { check, secrets } = checkSecret();
  const answering = await checkHealth();
  const isThere = answering.level === "well";
  return [check, answering, ...(isThere ? [await checkKey(secrets, revokedKeys)] : [])];
}

function checkSecret(): { readonly check: Check; readonly secrets?: Secrets } {
  const about = "secret";
  if (setting("LAYOVER_SECRET") === undefined) {
    if (isDevKey(apiKey())) {
      return { check: { about, level: "well", says: "LAYOVER_SECRET is not set. layover dev has one of its own." } };
    }
    const says = "LAYOVER_SECRET is not set here: no key can be made or looked into.";
    return { check: { about, level: "warning", says, todo: "Set it to the deployment's root secret." } };
  }
  try {
    const secrets = new Secrets(rootSecrets());
    return { check: { about, level: "well", says: "LAYOVER_SECRET is set, and long enough." }, secrets };
  } catch (error) {
    if (!(error instanceof LayoverError)) throw error;
    return {
      check: { about, level: "problem", says: `LAYOVER_SECRET does not do: ${error.message}.`, todo: error.hint },
    };
  }
}

async function checkHealth(): Promise<Check> {
  const about = "deployment";
  const url = serverUrl();
  try {
    await apiAt(url).get("/health");
    return { about, level: "well", says: `It answers at ${url}.` };
  } catch (error) {
    if (!(error instanceof LayoverError)) throw error;
    const isAsked = setting("LAYOVER_URL") !== undefined;
    return {
      about,
      level: isAsked ? "problem" : "warning",
      says: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`,
      todo: isAsked
        ? "Look at LAYOVER_URL, with its prefix, and whether the deployment is up."
        : "Set LAYOVER_URL to where the deployment is, with its prefix; or start one here: layover dev",
    };
  }
}

async function checkKey(secrets: Secrets | undefined, revokedKeys: ReadonlySet<string>): Promise<Check> {
  const about = "API key";
  const key = apiKey();
  if (key === undefined) {
    return { about, level: "warning", says: "LAYOVER_KEY is not set.", todo: keyHint };
  }
  try {
    await apiAt(serverUrl(), key).get("/v1/runs", { query: { limit: 1 } });
    return counts(key, secrets, "");
  } catch (error) {
    if (!(error instanceof LayoverError)) throw error;
    if (error.code === "forbidden") return counts(key, secrets, ", but may not read runs");
    if (error.code === "unauthorized") return { about, level: "problem", ...whyRefused(key, secrets, revokedKeys) };
    const says = `Asked for runs, the deployment failed: ${error.message}.`;
    return { about, level: "problem", says, todo: error.hint };
  }
}

function counts(key: string, secrets: Secrets | undefined, restriction: string): Check {
  const about = "API key";
  const { name, namespace: ofKey } = readApiKey(key) ?? { name: "", namespace: "" };
  const says = `${JSON.stringify(name)} counts there${restriction}.`;
  if (secrets === undefined || isDevKey(key) || isSigned(key, secrets, ofKey)) return { about, level: "well", says };
  return {
    about,
    level: "warning",
    says: `${says} But it was not signed with this LAYOVER_SECRET, so the deployment has another one.`,
    todo: "Give both the same one, or no key that you make here counts there. (If it was just replaced, all is well.)",
  };
}

/** Whether it is the key that `layover dev` made in this folder. That key is signed with the folder's own secret. */
function isDevKey(key: string | undefined): boolean {
  return key !== undefined && key === devKey();
}

/** Whether the key was signed with this secret, even if it has expired. */
function isSigned(key: string, secrets: Secrets, namespace: string): boolean {
  return openApiKey(secrets, key, { namespace, environment: readApiKey(key)?.environment, nowMs: 0 }) !== undefined;
}

/** The deployment tells a stranger nothing, so it is found out here. */
function whyRefused(
  key: string,
  secrets: Secrets | undefined,
  revokedKeys: ReadonlySet<string>,
): Pick<Check, "says" | "todo"> {
  const again = "Make a new one: layover keys create NAME --scopes …";
  const read = readApiKey(key);
  if (read === undefined) return { says: "LAYOVER_KEY is no API key of layover: those begin with lok_.", todo: again };
  const { keyId, expiresAt, namespace: ofKey, environment: itsEnvironment = environment() } = read;
  const name = JSON.stringify(read.name);
  if (expiresAt !== undefined && expiresAt.getTime() <= Date.now()) {
    return { says: `The key ${name} expired at ${clockTime(expiresAt)}.`, todo: again };
  }
  if (revokedKeys.has(keyId)) return { says: `The key ${name} was revoked.`, todo: again };
  if (ofKey !== namespace()) {
    return {
      says: `The key ${name} is for the namespace "${ofKey}", and LAYOVER_NAMESPACE says "${namespace()}".`,
      todo: "Put LAYOVER_NAMESPACE right, or make a key for it: layover keys create NAME --scopes …",
    };
  }
  if (itsEnvironment !== environment()) {
    return {
      says: `The key ${name} is for the environment "${itsEnvironment}", and LAYOVER_ENVIRONMENT says "${environment()}".`,
      todo: "Correct LAYOVER_ENVIRONMENT, or make a key for that environment: layover keys create NAME --scopes …",
    };
  }
  if (secrets === undefined) {
    return {
      says: `The deployment does not let the key ${name} in: it was signed with another secret, or revoked.`,
      todo: "Set LAYOVER_SECRET and DATABASE_URL as the deployment has them, and ask again.",
    };
  }
  if (!isSigned(key, secrets, ofKey)) {
    return {
      says: `The key ${name} was not signed with this LAYOVER_SECRET.`,
      todo: "Put LAYOVER_SECRET right if it is not the deployment's; if it is, make a new key: layover keys create NAME --scopes …",
    };
  }
  return {
    says: `The deployment does not let the key ${name} in, although it is signed with this LAYOVER_SECRET. The deployment has another secret, namespace or environment.`,
    todo: "Give the deployment this LAYOVER_SECRET, LAYOVER_NAMESPACE and LAYOVER_ENVIRONMENT, or make a key with its own.",
  };
}

function apiAt(url: string, key?: string): Api {
  return new Api({ url, apiKey: key, retry: { maxAttempts: 1 }, timeout: "10s" });
}
