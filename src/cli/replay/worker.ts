/**
 * The thread in which the workflows' code is replayed. Nothing of it gets out: `fetch`, sockets and timers are refused,
 * and code that asks for them outside of a step would be blocked in production, too, or differ from time to time.
 */
import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { Registry } from "../../engine/registry.ts";
import { judgeUpgrade, type Move, type UpgradeVerdict } from "../../engine/replay/judge-upgrade.ts";
import { replayStored, type StoredRun } from "../../engine/replay/replay-stored.ts";
import { loadWorkflows } from "../load-workflows.ts";

/** What the thread is asked. `move`: whether the run fits another version. Left out: whether it fits this code. */
export interface ToWorker {
  readonly stored: StoredRun;
  readonly move?: Move;
}

/** The thread says once that it is ready, and then answers for each run. */
export type FromWorker =
  | ({ readonly kind: "ready"; readonly file: string } & Pick<Registry, "versions" | "signatures">)
  | { readonly kind: "judged"; readonly verdict: UpgradeVerdict }
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

async function judge(registry: Registry, { stored, move }: ToWorker): Promise<UpgradeVerdict> {
  const options = { registry, atRest, tellsLines: true };
  refused = undefined;
  const verdict =
    move === undefined
      ? await replayStored(found(registry, stored), stored, options)
      : await judgeUpgrade(registry, stored, move, options);
  if (refused === undefined) return verdict;
  const reason = `the code calls ${refused} outside of a step`;
  const asked = "asked" in verdict ? verdict.asked : [];
  return { outcome: "blocks", position: 0, reason, expected: undefined, instead: [], asked };
}

function found(registry: Registry, { run: { workflow: name, version } }: StoredRun) {
  const workflow = registry.find(name, version);
  if (workflow === undefined) throw new Error(`version ${version} of ${name} is not here`);
  return workflow;
}

try {
  globalThis.fetch = refusing("fetch");
  Socket.prototype.connect = refusing("a socket");
  const { file, workflows, schedules } = await loadWorkflows(workerData.module);
  const registry = new Registry(workflows, schedules);
  for (const name of ["setTimeout", "setInterval", "setImmediate"] as const)
    Object.defineProperty(globalThis, name, { value: refusing(name), configurable: true });
  parentPort?.on("message", (asked: ToWorker) => {
    judge(registry, asked).then(
      (verdict) => tell({ kind: "judged", verdict }),
      (error: unknown) => tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
    );
  });
  tell({ kind: "ready", file, versions: registry.versions, signatures: registry.signatures });
} catch (error) {
  const { message, hint } = error as Error & { hint?: string };
  tell({ kind: "failed", message, ...(hint !== undefined && { hint }) });
}
