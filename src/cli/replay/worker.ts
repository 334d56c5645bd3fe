/**
 * The thread in which the workflows' code is replayed. Nothing of it gets out: `fetch`, sockets and timers are refused,
 * and code that asks for them outside of a step would be blocked in production, too, or differ from time to time.
 */
import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { Registry } from "../../engine/registry.ts";
import { type ReplayVerdict, replayStored, type StoredRun } from "../../engine/replay/replay-stored.ts";
import { loadWorkflows } from "../load-workflows.ts";

/** The thread says once that it is ready, and then answers for each run. */
export type FromWorker =
  | { readonly kind: "ready"; readonly file: string; readonly versions: Registry["versions"] }
  | { readonly kind: "judged"; readonly verdict: ReplayVerdict }
  | { readonly kind: "failed"; readonly message: string; readonly hint?: string };

const { setImmediate: usualImmediate } = globalThis;
const atRest = () => new Promise<void>((resolve) => void usualImmediate(resolve));
let refused: string | undefined;

function refusing(name: string): () => never {
  return () => {
    refused ??= name;
    throw new Error(`${name} is refused in a replay`);
  };
}

function tell(message: FromWorker): void {
  parentPort?.postMessage(message);
}

async function judge(registry: Registry, stored: StoredRun): Promise<ReplayVerdict> {
  const { workflow: name, version } = stored.run;
  const workflow = registry.find(name, version);
  if (workflow === undefined) throw new Error(`version ${version} of ${name} is not here`);
  refused = undefined;
  const verdict = await replayStored(workflow, stored, { registry, atRest, tellsLines: true });
  if (refused === undefined) return verdict;
  const reason = `the code calls ${refused} outside of a step`;
  return { outcome: "blocks", position: 0, reason, expected: undefined, instead: [], asked: verdict.asked };
}

try {
  globalThis.fetch = refusing("fetch");
  Socket.prototype.connect = refusing("a socket");
  const { file, workflows, schedules } = await loadWorkflows(workerData.module);
  const registry = new Registry(workflows, schedules);
  for (const name of ["setTimeout", "setInterval", "setImmediate"] as const)
    Object.defineProperty(globalThis, name, { value: refusing(name), configurable: true });
  parentPort?.on("message", (stored: StoredRun) => {
    judge(registry, stored).then(
      (verdict) => tell({ kind: "judged", verdict }),
      (error: unknown) => tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
    );
  });
  tell({ kind: "ready", file, versions: registry.versions });
} catch (error) {
  const { message, hint } = error as Error & { hint?: string };
  tell({ kind: "failed", message, ...(hint !== undefined && { hint }) });
}
