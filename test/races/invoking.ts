/** Runs that other runs start, as a turn's finish names them. */
import { randomUUID } from "node:crypto";
import type * as wire from "../../src/postgres/wire.ts";
import { at } from "./runs.ts";

export function aChild(path: string, more: Partial<wire.NewChild> = {}): wire.NewChild {
  return {
    ...{ ...at(path), runId: randomUUID(), workflow: "flow", version: 1, input: "0{}", demandedAfter: 0, ordinal: 1 },
    ...more,
  };
}
