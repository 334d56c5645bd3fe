/** Requests of a test to hosts, over HTTP. */
import { authorized } from "../a-worker.ts";
import type { Host } from "./workflows.ts";

export interface Asking {
  /** Starts a run by one of the hosts, also under an id of the user's own. Default of the version: 1. Answers our id. */
  start(
    host: Host,
    workflow: string,
    input: unknown,
    more?: { readonly id?: string; readonly version?: number },
  ): Promise<string>;
  /** Answers the view of a run, as one of the hosts gives it. */
  get(host: Host, runId: string): Promise<Readonly<Record<string, unknown>>>;
  /** The id of the only run of a workflow. */
  onlyRun(host: Host, workflow: string): Promise<string | undefined>;
  /** `dedupeId`: a second signal with it is none. */
  signal(host: Host, runId: string, name: string, payload: unknown, dedupeId?: string): Promise<void>;
  /** Has one of the hosts look at everything. */
  wake(host: Host): Promise<void>;
}

/** `urlOf`: answers where a host is reached. */
export function askingAt(urlOf: (host: Host) => string): Asking {
  const call = async (host: Host, method: string, path: string, value?: unknown) => {
    const body = value === undefined ? {} : { body: JSON.stringify(value) };
    const response = await fetch(`${urlOf(host)}${path}`, { method, headers: authorized, ...body });
    const answer: Readonly<Record<string, unknown>> = Object(await response.json());
    if (response.ok) return answer;
    throw new Error(`${method} ${path} on ${host} was answered ${response.status}: ${JSON.stringify(answer)}`);
  };
  return {
    async start(host, workflow, input, { id, version = 1 } = {}) {
      return String((await call(host, "POST", `/v1/workflows/${workflow}/runs`, { input, version, id }))["runId"]);
    },
    get: async (host, runId) => await call(host, "GET", `/v1/runs/${runId}`),
    async onlyRun(host, workflow) {
      const path = `/v1/runs?workflow=${workflow}`;
      const { runs }: { runs?: readonly { readonly runId: string }[] } = await call(host, "GET", path);
      return runs?.[0]?.runId;
    },
    wake: async (host) => void (await call(host, "POST", "/v1/wake")),
    signal: async (host, runId, name, payload, dedupeId) =>
      void (await call(host, "POST", `/v1/runs/${runId}/signals/${name}`, { payload, dedupeId })),
  };
}
