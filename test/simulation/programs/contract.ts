/** The contract of all programs: what may be sent to one from outside. */
import { workflow } from "layover";
import * as z from "zod";

export const signalNames = ["red", "green", "blue"] as const;
export type SignalName = (typeof signalNames)[number];

/** One contract for each version of a workflow. `timeout`: of its runs, in milliseconds. */
export function programOf(version: number, timeout?: number) {
  return workflow({
    name: "program",
    version,
    ...(timeout !== undefined && { timeout }),
    signals: { red: z.number(), green: z.number(), blue: z.number() },
    callbacks: { approval: z.string() },
  });
}

/** How far the twin of a version is from it. A scenario has fewer programs. */
const twinsFrom = 100;

/** The other version to which a run may be moved. It has the same code, so the history of a run fits both. */
export function twinOf({ version, timeoutMs }: ProgramContract): ProgramContract {
  return programOf(version + twinsFrom, timeoutMs);
}

/** The index of the program whose code a version has. */
export function programIndex(version: number): number {
  return (version % twinsFrom) - 1;
}

export const programContract = programOf(1);

export type ProgramContract = typeof programContract;
export type ProgramHandler = Parameters<ProgramContract["handler"]>[0];
export type ProgramStep = Parameters<ProgramHandler>[0]["step"];
