/** Starts a run at a host, as its users do. */

/** `url`: of the app, with its prefix. */
export async function startOverHttp(url: string, key: string, workflow: string, input: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ input });
  const response = await fetch(`${url}/v1/workflows/${workflow}/runs`, { method: "POST", headers, body });
  if (response.status !== 201) throw new Error(`a start was answered ${response.status}: ${await response.text()}`);
}
