/** A callback that an order waits for, as its URL is handed out. */
import { carryOut, sealCallback } from "../client/a-client.ts";
import { order, type TestApp } from "./an-app.ts";

export async function aCallback(
  { client, calls }: TestApp,
  { until, name = "approval" }: { until?: number; name?: string } = {},
) {
  const { runId } = await client.start(order, { id: "1" });
  const path = `ask/${name}`;
  await carryOut(
    calls,
    { runId, workflow: "order" },
    { waitsFor: [{ kind: "callback", path, ...(until !== undefined && { until }) }] },
  );
  const { token } = sealCallback({ runId, epoch: 0, path, occurrence: 0, workflow: "order", version: 1, name });
  return { runId, path: `/callbacks/${token}` };
}

/** The headers of a program, which wants no page. */
export const program = { accept: "application/json" };
