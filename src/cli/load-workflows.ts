/**
 * Finds the user's workflows and schedules: whatever a module exports that a contract's `handler`, or `schedule`, made,
 * singly or in arrays.
 */
import { existsSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import type { Workflow } from "../core/contract/contract.ts";
import type { Schedule } from "../core/contract/schedule.ts";
import { UsageError } from "./usage-error.ts";

export interface Loaded {
  /** The file's path from the working directory. */
  readonly file: string;
  readonly workflows: readonly Workflow[];
  readonly schedules: readonly Schedule[];
}

const defaultFolder = "functions/workflows";
const indexNames = ["index.ts", "index.js", "index.mjs"];

/** @throws UsageError */
export async function loadWorkflows(module: string | undefined): Promise<Loaded> {
  const file = fileOf(module);
  const shown = relative(process.cwd(), file);
  let exported: readonly unknown[];
  try {
    const namespace: Readonly<Record<string, unknown>> = await import(pathToFileURL(file).href);
    exported = Object.values(namespace).flat();
  } catch (error) {
    throw new UsageError(`${shown} could not be loaded: ${inspect(error)}`, {
      hint: "It is imported as Node itself would; from 22.18 on that includes TypeScript.",
      cause: error,
    });
  }
  const workflows = [...new Set(exported.filter(isWorkflow))];
  const schedules = [...new Set(exported.filter(isSchedule))];
  if (workflows.length > 0) return { file: shown, workflows, schedules };
  throw new UsageError(`${shown} exports no workflow.`, {
    hint: "Export what `contract.handler(…)` answers, or an array of these.",
  });
}

function fileOf(module: string | undefined): string {
  const asked = resolve(module ?? defaultFolder);
  const isFolder = statSync(asked, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const candidates = isFolder ? indexNames.map((name) => join(asked, name)) : [asked];
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file !== undefined) return file;
  const sought = isFolder || module === undefined ? join(module ?? defaultFolder, "index.ts") : module;
  throw new UsageError(`There is no ${sought} in ${process.cwd()}.`, {
    hint: "Name the module that exports your workflows: layover dev src/workflows.ts",
  });
}

/** Told by its shape, as a workflow is. */
function isSchedule(value: unknown): value is Schedule {
  if (typeof value !== "object" || value === null || !("definition" in value) || !("contract" in value)) return false;
  return typeof value.definition === "object" && "name" in value && "input" in value;
}

/** Told by its shape: the module may have a copy of layover of its own. */
function isWorkflow(value: unknown): value is Workflow {
  if (typeof value !== "object" || value === null || !("handle" in value) || !("contract" in value)) return false;
  const { handle, contract } = value;
  return typeof handle === "function" && typeof contract === "object" && contract !== null && "name" in contract;
}
