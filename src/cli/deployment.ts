/** The API of the deployment at LAYOVER_URL, asked with LAYOVER_KEY. */
import { validate as isUuid } from "uuid";
import type { RunView } from "../client/run-view.ts";
import { workflow } from "../core/contract.ts";
import { LayoverError } from "../core/errors.ts";
import { Api, type ApiOptions } from "../http/api.ts";
import { HttpClient } from "../http/http-client.ts";
import { apiKey, deploymentUrl } from "./settings.ts";
import { UsageError } from "./usage-error.ts";

export interface Deployment {
  readonly api: Api;
  readonly client: HttpClient;
}

/** @throws UsageError where it does not answer, or lets nobody in */
export async function withDeployment<Result>(work: (deployment: Deployment) => Promise<Result>): Promise<Result> {
  const url = deploymentUrl();
  const key = apiKey();
  if (key === undefined) {
    throw new UsageError(`LAYOVER_KEY is not set, and ${url} wants an API key.`, {
      hint: "Make one: layover keys create NAME --scopes read,start,signal. (One of layover dev is found by itself, in its folder.)",
    });
  }
  const options: ApiOptions = { url, apiKey: key, retry: { maxAttempts: 3 } };
  try {
    return await work({ api: new Api(options), client: new HttpClient(options) });
  } catch (error) {
    throw error instanceof LayoverError ? refusal(error, url) : error;
  }
}

function refusal(error: LayoverError, url: string): Error {
  const { code, message: cause } = error;
  if (code === "unreachable") {
    return new UsageError(`Nobody answers at ${url}: ${cause.slice(cause.lastIndexOf(": ") + 2)}.`, {
      hint: "Set LAYOVER_URL to where the deployment is, with its prefix; or start one here: layover dev",
      cause: error,
    });
  }
  if (code === "unauthorized") {
    const hint = "layover doctor finds out why.";
    return new UsageError(`The deployment at ${url} does not take this LAYOVER_KEY: ${cause}.`, { hint, cause: error });
  }
  if (code === "unexpected_answer") {
    return new UsageError(`What answers at ${url} is not layover: ${cause}.`, { hint: error.hint, cause: error });
  }
  return error;
}

/** A run as people name it. */
export type RunName = { readonly runId: string } | { readonly workflow: string; readonly id: string };

/** By our id, or as WORKFLOW/ID by the user's own. @throws UsageError */
export function runNamed(text: string): RunName {
  const slash = text.indexOf("/");
  if (slash > 0) return { workflow: text.slice(0, slash), id: text.slice(slash + 1) };
  if (isUuid(text)) return { runId: text };
  throw new UsageError(`There is no run ${JSON.stringify(text)}: our id of a run is a uuid.`, {
    hint: `By your own id of it, say of which workflow: WORKFLOW/${text}`,
  });
}

/** @throws LayoverError `unknown_run`, `unknown_workflow` */
export async function findRun(client: HttpClient, name: RunName): Promise<RunView> {
  if ("runId" in name) return await client.get(name.runId);
  const { runId } = await client.runById(workflow({ name: name.workflow, version: 1 }), name.id);
  return await client.get(runId);
}
