/** The server of a deployment, which is at LAYOVER_URL. Commands ask its API with LAYOVER_KEY. */
import { validate as isUuid } from "uuid";
import { Api, type ApiOptions } from "../../client/over-http/api.ts";
import { HttpClient } from "../../client/over-http/http-client.ts";
import type { RunView } from "../../client/run-view.ts";
import { workflow } from "../../core/contract/contract.ts";
import { LayoverError } from "../../core/errors.ts";
import { plain, printAside } from "../screen.ts";
import { apiKey, devKey, serverUrl } from "../settings.ts";
import { UsageError } from "../usage-error.ts";
import { findByPart, isPartOfId, type Lister } from "./run-ids.ts";

/** The advice for somebody who has no LAYOVER_KEY. */
export const keyHint =
  "Make a key: layover keys create NAME --scopes start,read,signal,callbacks. Put it into .env or .dev.vars here: LAYOVER_KEY=lok_… (In the folder of layover dev, its own key is found by itself.)";

export interface Server {
  readonly api: Api;
  readonly client: HttpClient;
}

/** The address of a deployment that is asked instead of the one at LAYOVER_URL. */
export interface ServerPlace {
  readonly url?: string | undefined;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** @throws UsageError where it does not answer, or lets nobody in */
export async function withServer<Result>(
  work: (server: Server) => Promise<Result>,
  { url = serverUrl(), headers }: ServerPlace = {},
): Promise<Result> {
  const key = apiKey();
  if (key === undefined) {
    throw new UsageError(`LAYOVER_KEY is not set, and ${url} wants an API key.`, { hint: keyHint });
  }
  const workWith = async (apiKey: string): Promise<Result> => {
    const options: ApiOptions = { url, apiKey, headers, retry: { maxAttempts: 3 } };
    return await work({ api: new Api(options), client: new HttpClient(options) });
  };
  try {
    return await workWith(key).catch(async (error: unknown) => {
      const own = devKey();
      const isRefused = error instanceof LayoverError && error.code === "unauthorized";
      if (!isRefused || own === undefined || own === key) throw error;
      printAside("LAYOVER_KEY does not count there. The key of layover dev in this folder is tried instead.");
      return await workWith(own); // what was refused had no effect
    });
  } catch (error) {
    throw error instanceof LayoverError ? refusal(error, url) : error;
  }
}

function refusal(error: LayoverError, url: string): Error {
  const { code } = error;
  const [cause, hint] = [plain(error.message), plain(error.hint)];
  if (code === "unreachable") {
    return new UsageError(`Nobody answers at ${url}: ${cause.slice(cause.lastIndexOf(": ") + 2)}.`, {
      hint: "Set LAYOVER_URL to where the deployment is, with its prefix; or start one here: layover dev",
      cause: error,
    });
  }
  if (code === "unauthorized") {
    return new UsageError(`The deployment at ${url} does not take this LAYOVER_KEY: ${cause}.`, {
      hint: "layover doctor finds out why.",
      cause: error,
    });
  }
  if (code === "forbidden") {
    const scope = plain(String(error.details["scope"]));
    return new UsageError(`The deployment at ${url} wants a key with the scope ${scope}: ${cause}.`, {
      hint: `Make one: layover keys create NAME --scopes start,read,signal,${scope}. Put it into .env or .dev.vars here: LAYOVER_KEY=lok_… (The key of layover dev has every scope, once layover dev was started again.)`,
      cause: error,
    });
  }
  if (code === "unexpected_answer") {
    return new UsageError(`What answers at ${url} is not layover: ${cause}.`, { hint, cause: error });
  }
  return error;
}

/** A run as people name it. */
export type RunName = { readonly runId: string } | { readonly workflow: string; readonly id: string };

/**
 * Does something with the run that is named by our id, by a part of our id, or as WORKFLOW/ID by the user's own id. The
 * workflow's name and the id may both have slashes. So each slash is tried as the separator, until such a run is found.
 *
 * @throws UsageError; LayoverError `unknown_run`, `unknown_workflow`
 */
export async function withRun<Result>(
  client: Lister,
  text: string,
  work: (name: RunName) => Promise<Result>,
): Promise<Result> {
  const failures: LayoverError[] = [];
  const names = isPartOfId(text) ? [{ runId: await findByPart(client, text) }] : namesIn(text);
  for (const name of names) {
    try {
      return await work(name);
    } catch (error) {
      if (!(error instanceof LayoverError && /^unknown_(run|workflow)$/.test(error.code))) throw error;
      failures.push(error);
    }
  }
  throw failures.find(({ code }) => code === "unknown_run") ?? failures[0];
}

function namesIn(text: string): readonly RunName[] {
  if (isUuid(text)) return [{ runId: text }];
  const slashes = [...text.matchAll(/(?<=.)\/(?=.)/g)];
  if (slashes.length > 0)
    return slashes.map(({ index }) => ({ workflow: text.slice(0, index), id: text.slice(index + 1) }));
  throw new UsageError(`There is no run ${JSON.stringify(text)}: our id of a run is a uuid.`, {
    hint: `Name it by our id or the part of it that layover runs shows, or by your own id and its workflow: WORKFLOW/${text}`,
  });
}

/** Finds our id of a run that is named as people do. @throws UsageError; LayoverError `unknown_run`, `unknown_workflow` */
export async function findRunId(client: HttpClient, text: string): Promise<string> {
  return await withRun(client, text, async (name) =>
    "runId" in name ? name.runId : (await findRun(client, name)).runId,
  );
}

/** @throws LayoverError `unknown_run`, `unknown_workflow` */
export async function findRun(client: HttpClient, name: RunName): Promise<RunView> {
  if ("runId" in name) return await client.get(name.runId);
  const { runId } = await client.runById(workflow({ name: name.workflow, version: 1 }), name.id);
  return await client.get(runId);
}
