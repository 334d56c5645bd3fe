/** An app that is sent whatever comes in. Each of its answers is checked for what must hold of every answer. */
import { expect } from "vitest";
import { errorCodes } from "../../src/core/errors.ts";
import type { TestDatabase } from "../postgres/database.ts";
import { anApp, authorized, order, type TestApp } from "./an-app.ts";

export interface CheckedApp {
  readonly test: TestApp;
  /** The run of the workflow "order" whose id is "there". */
  readonly runId: string;
  /** Sends it, checks what must hold of every answer, and gives `status code`. */
  answerTo(path: string, init?: RequestInit): Promise<string>;
}

export async function aCheckedApp(database: TestDatabase): Promise<CheckedApp> {
  const test = anApp(database.query, { sendsAnything: true });
  const { runId } = await test.client.start(order, { id: "1" }, { id: "there" });

  const rows = async () => {
    const tables = ["run", "run_state", "tag", "signal", "callback"];
    const counts = tables.map((table) => `(select count(*) from layover.${table})`).join(" + ");
    return Number((await database.pool.query(`select ${counts} as n`)).rows[0].n);
  };

  async function answerTo(path: string, init: RequestInit = {}): Promise<string> {
    const before = await rows();
    const response = await test.app.request(path, init);
    const text = await response.text();
    expect(test.errors, `${init.method} ${path.slice(0, 80)}`).toEqual([]);
    expect(response.status).toBeLessThan(500);
    if (response.status < 400) return String(response.status);
    expect(await rows()).toBe(before);
    if (init.method === "HEAD" || response.headers.get("content-type")?.startsWith("text/html"))
      return String(response.status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const problem = JSON.parse(text);
    expect(Object.keys(errorCodes)).toContain(problem.code);
    expect(errorCodes[problem.code as keyof typeof errorCodes]).toBe(response.status);
    expect(problem).toMatchObject({
      status: response.status,
      title: expect.any(String),
      detail: expect.any(String),
      hint: expect.any(String),
    });
    expect(text.length).toBeLessThan(4_000);
    return `${response.status} ${problem.code}`;
  }

  return { test, runId, answerTo };
}

export const start = "/v1/workflows/order/runs";
export const post = (body: BodyInit | null, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  body,
  headers: { "content-type": "application/json", ...authorized, ...headers },
});
