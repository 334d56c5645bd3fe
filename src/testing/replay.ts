/** Replays an exported run of production with the code under test. */
import { readFile } from "node:fs/promises";
import { checkExport, type ExportedRun } from "../client/exports.ts";
import type { Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";
import { Registry } from "../engine/registry.ts";
import { type ReplayVerdict, replayStored } from "../engine/replay/replay-stored.ts";
import { TestKitError } from "./kit-error.ts";
import { macrotask, realPause } from "./timers.ts";

export interface ReplayFileOptions {
  readonly workflows: readonly Workflow[];
  /** Needed for runs whose input a schedule's function makes. Default: none. */
  readonly schedules?: readonly Schedule[] | undefined;
  /** The version of the workflow whose code is tried. Default: that of the run. */
  readonly version?: number | undefined;
}

const patienceMs = 1_000;

/**
 * Replays a run that `layover export` has written, with the code of its workflow. No body of a step is called. Answers
 * whether the code fits: `fits`; `blocks`, with what the history holds (`expected`) and what the code asks for
 * `instead`, with its lines; or `ends`, if the code ends otherwise than the run.
 *
 * @example expect(await replay("test/order-o1.json", { workflows: [orderWorkflow] })).toMatchObject({ outcome: "fits" });
 * @throws TestKitError `unknown_workflow`; LayoverError `invalid_request` for a file that is no exported run
 */
export async function replay(
  file: string | URL | ExportedRun,
  { workflows, schedules = [], version }: ReplayFileOptions,
): Promise<ReplayVerdict> {
  const exported = checkExport(
    typeof file === "string" || file instanceof URL ? JSON.parse(await readFile(file, "utf8")) : file,
  );
  const { workflow: name, version: own } = exported.run;
  const registry = new Registry(workflows, schedules);
  const workflow = registry.find(name, version ?? own);
  if (workflow === undefined) {
    throw new TestKitError("unknown_workflow", `The file is of version ${version ?? own} of ${JSON.stringify(name)}.`, {
      hint: "Give its workflow, with the handler: replay(file, { workflows }).",
    });
  }
  const patience = () => realPause(patienceMs);
  return await replayStored(workflow, exported, { registry, patience, atRest: macrotask, tellsLines: true });
}
