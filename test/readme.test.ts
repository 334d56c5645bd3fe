import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DevServer } from "./platform/dev-server.ts";
import { shellWith } from "./readme-blocks.ts";

test("the README's lines of curl carry an order to its end, as they stand", { timeout: 90_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "layover-readme-"));
  const server = new DevServer({ data: join(folder, "data") });
  try {
    await server.listening();
    const script = shellWith("RUN=").replace("http://127.0.0.1:3000", server.url);
    const [before = "", after = ""] = script.split(/^(?=curl -s "\$URL")/m);
    const settings = before.slice(0, before.indexOf("RUN="));
    const sh = (lines: string, env: Record<string, string> = {}) =>
      execFileSync("sh", ["-ec", lines], { encoding: "utf8", env: { ...process.env, KEY: server.key, ...env } });
    const [, runId = ""] = /ran (\S+)$/.exec(sh(`${before}echo; echo ran $RUN`).trim()) ?? [];
    const [url = ""] = await server.untilSaid(/http:\S+\/callbacks\/[\w.-]+/);
    const ending = sh(settings + after, { RUN: runId, URL: url });
    expect(JSON.parse(ending.slice(ending.indexOf('{"runId"')))).toMatchObject({
      runId,
      status: "completed",
      result: { parcels: [expect.any(String), expect.any(String)], address: { city: "Turin" } },
    });
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
});
