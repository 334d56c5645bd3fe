/** An order at a deployment of functions/workflows, as somebody outside carries it to its end: by HTTP and its log. */
import { expect } from "vitest";
import * as z from "zod";

export interface Deployment {
  readonly url: string;
  readonly key: string;
  /** What it has logged, once it has logged this. */
  readonly untilSaid: (pattern: RegExp) => Promise<RegExpExecArray>;
}

const Started = z.object({ runId: z.string() });
const address = { street: "1 Rose St", city: "London" };

export async function carryOrderToItsEnd({ url, key, untilSaid }: Deployment): Promise<void> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const post = async (path: string, value: unknown) =>
    await fetch(url + path, { method: "POST", headers, body: JSON.stringify(value) });

  const input = { customer: "Ada", amount: 42, items: ["lamp"], address };
  const started = await post("/v1/workflows/order/runs", { input });
  expect(started.status).toBe(201);
  const { runId } = Started.parse(await started.json());

  const [callback] = await untilSaid(/\/callbacks\/[\w.-]+/);
  expect((await post(callback, { ok: true })).status).toBe(200);

  const ended = await fetch(`${url}/v1/runs/${runId}/result?wait=30s`, { headers });
  expect(await ended.json()).toMatchObject({
    status: "completed",
    result: { charge: expect.stringMatching(/^charge_/), parcels: [expect.stringMatching(/^parcel_/)], address },
  });
}
