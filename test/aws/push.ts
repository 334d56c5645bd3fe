/** Delivers to the webhook `github` of a deployment, as GitHub does. */
import { createHmac } from "node:crypto";
import type { Deployment } from "./a-deployment.ts";

export async function push({ cloud, world }: Deployment, guid: string): Promise<unknown> {
  const body = JSON.stringify({ id: guid, input: { world: world.url, steps: 1 } });
  const mac = createHmac("sha256", "hook").update(body).digest("hex");
  const headers = { "x-hub-signature-256": `sha256=${mac}`, "x-github-event": "push", "x-github-delivery": guid };
  const response = await fetch(`${cloud.url}/webhooks/github`, { method: "POST", body, headers });
  return [response.status, Object(await response.json()).outcome];
}
