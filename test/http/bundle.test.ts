/**
 * What of layover ends up in a program that imports a little of it. Each source that leaves a byte there is looked at.
 */
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Bundles and minifies the code for a browser, where `node:` modules are an error. */
async function bundled(
  code: string,
): Promise<{ readonly sources: readonly string[]; readonly gzippedBytes: number; readonly code: string }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    conditions: ["layover-source"],
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const inputs = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {});
  return {
    sources: inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([source]) => source),
    gzippedBytes: gzipSync(outputFiles[0]?.contents ?? "").length,
    code: outputFiles[0]?.text ?? "",
  };
}

/** Names the sources that are not core's: our own files by their path, packages by their folder. */
function strangersIn(sources: readonly string[]): readonly string[] {
  const beyondCore = sources.filter((source) => source !== "<stdin>" && !source.startsWith("src/core/"));
  return [
    ...new Set(beyondCore.map((source) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? source)),
  ].sort();
}

describe("layover/client in a browser", () => {
  it("carries no engine, no database, no server and no schema library: 14 kB gzipped", async () => {
    const { sources, gzippedBytes } = await bundled('export { HttpClient } from "layover/client";');
    expect(strangersIn(sources)).toEqual([
      "node_modules/uuid",
      "src/client/callback-token.ts",
      "src/client/ending.ts",
      "src/client/filter.ts",
      "src/client/listing.ts",
      "src/client/mail.ts",
      "src/client/many.ts",
      "src/client/operation-verbs.ts",
      "src/client/operations.ts",
      "src/client/over-http/api-answer.ts",
      "src/client/over-http/api.ts",
      "src/client/over-http/http-client.ts",
      "src/client/over-http/json-depth.ts",
      "src/client/over-http/media-type.ts",
      "src/client/over-http/requests.ts",
      "src/client/over-http/schedules.ts",
      "src/client/over-http/sealed-view.ts",
      "src/client/page-limit.ts",
      "src/client/run-failed-error.ts",
      "src/client/run-id.ts",
      "src/client/run-view.ts",
      "src/client/run.ts",
      "src/client/starting.ts",
      "src/client/unreadable.ts",
      "src/client/waiting.ts",
      "src/client/whole-number.ts",
      "src/client/workflow-pause.ts",
      "src/postgres/host-clock.ts",
    ]);
    expect(sources.filter((source) => /execution|replay|demand|steps|offers/.test(source))).toEqual([]);
    expect(gzippedBytes).toBeLessThan(14_100);
  });
});

describe("layover", () => {
  it("leaves of itself what is used: a contract is 1.5 kB gzipped, without engine and client", async () => {
    const { sources, gzippedBytes } = await bundled('export { workflow } from "layover";');
    expect(strangersIn(sources)).toEqual([]);
    expect(sources).toContain("src/core/contract/contract.ts");
    expect(sources).not.toContain("src/core/codec/codec.ts");
    expect(gzippedBytes).toBeLessThan(1_700);
  });

  it("brings a contract along with the client that starts it", async () => {
    const code = `
      import { HttpClient } from "layover/client";
      import { LayoverError, workflow } from "layover";
      const greet = workflow({ name: "greet", version: 1 });
      export const start = () => new HttpClient({ url: "/layover" }).start(greet).catch((e) => e instanceof LayoverError);`;
    const { sources, gzippedBytes } = await bundled(code);
    expect(sources.filter((source) => source.endsWith("core/errors.ts"))).toHaveLength(1);
    expect(gzippedBytes).toBeLessThan(14_600);
  });
});

describe("a Worker", () => {
  it("without a webhook has nothing of webhooks but the place where they are mounted", async () => {
    const { sources } = await bundled('export { serve } from "layover/cloudflare"');
    expect(sources.filter((source) => source.includes("/webhooks/"))).toEqual(["src/http/webhooks/mount.ts"]);
  });

  it("with one sender's webhook has no other sender's verifier", async () => {
    const { sources } = await bundled('export { stripeSignature, webhook } from "layover/webhooks"');
    const verifiers = sources.filter((source) => source.includes("/verifiers/"));
    expect(verifiers.map((source) => source.split("/").at(-1)).sort()).toEqual(["signature.ts", "stripe.ts"]);
  });

  it("without a dashboard has nothing of it but the place where it is mounted", async () => {
    const { sources } = await bundled('export { serve } from "layover/cloudflare"');
    expect(sources.filter((source) => source.includes("/dashboard/"))).toEqual(["src/http/dashboard/mount.ts"]);
  });

  it("gets the whole dashboard in 60 kB gzipped at most, and not a byte from elsewhere", async () => {
    const worker = await bundled('export { serve } from "layover/cloudflare"');
    const both = await bundled(
      'export { serve } from "layover/cloudflare"; export { dashboard } from "layover/dashboard"',
    );
    expect(both.gzippedBytes - worker.gzippedBytes).toBeLessThan(60_000);
    expect(
      both.sources.filter((source) => !worker.sources.includes(source) && source.includes("node_modules")),
    ).toEqual(["node_modules/hono/dist/utils/cookie.js"]);
  });

  it("that judges no runs has nothing of that, and gets it in 4 kB gzipped at most", async () => {
    const worker = await bundled('export { serve } from "layover/cloudflare"');
    expect(worker.sources.filter((source) => source.includes("/replay-check/"))).toEqual([]);
    const both = await bundled(
      'export { serve } from "layover/cloudflare"; export { replayCheck } from "layover/replay-check"',
    );
    expect(both.gzippedBytes - worker.gzippedBytes).toBeLessThan(4_000);
  });

  it("that does not mount the OpenAPI document has nothing of it, and no description of a route", async () => {
    const { sources, code } = await bundled('export { serve } from "layover/cloudflare"');
    expect(sources.filter((source) => source.includes("/openapi/"))).toEqual([]);
    expect(["operationId", "Starts a run", "getRunById"].filter((word) => code.includes(word))).toEqual([]);
  });
});
