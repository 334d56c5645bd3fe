/** The thread in which the workflows' code is replayed, so that code which never comes to rest can be ended. */
import { parentPort, workerData } from "node:worker_threads";
import { Registry } from "../../engine/registry.ts";
import type { Move, UpgradeVerdict } from "../../engine/replay/judge-upgrade.ts";
import type { StoredRun } from "../../engine/replay/replay-stored.ts";
import { loadWorkflows } from "../load-workflows.ts";
import { refuseNetwork, refuseTimers } from "./refusals.ts";
import { judgeMoveHere, replayHere } from "./replay-here.ts";

/** A question to the thread: does the run fit this code? With `move`: does it fit another version? */
export interface ToWorker {
  readonly stored: StoredRun;
  readonly move?: Move;
}

/** The thread says once that it is ready, and then answers for each run. */
export type FromWorker =
  | ({ readonly kind: "ready"; readonly file: string } & Pick<Registry, "versions" | "signatures">)
  | { readonly kind: "judged"; readonly verdict: UpgradeVerdict }
  | { readonly kind: "failed"; readonly message: string; readonly hint?: string };

function tell(message: FromWorker): void {
  parentPort?.postMessage(message);
}

try {
  refuseNetwork();
  const { file, workflows, schedules } = await loadWorkflows(workerData.module);
  const registry = new Registry(workflows, schedules);
  refuseTimers();
  parentPort?.on("message", ({ stored, move }: ToWorker) => {
    const judged = move === undefined ? replayHere(registry, stored) : judgeMoveHere(registry, stored, move);
    judged.then(
      (verdict) => tell({ kind: "judged", verdict }),
      (error: unknown) => tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) }),
    );
  });
  tell({ kind: "ready", file, versions: registry.versions, signatures: registry.signatures });
} catch (error) {
  const { message, hint } = error as Error & { hint?: string };
  tell({ kind: "failed", message, ...(hint !== undefined && { hint }) });
}
