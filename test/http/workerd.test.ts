/** The client where there is no Node: in the Workers runtime, bundled as a Worker is, over a service binding and the network. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare, type Request as MiniflareRequest, Response as MiniflareResponse } from "miniflare";
import { expect, it, onTestFinished } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { aFaultyServer } from "./a-faulty-server.ts";
import { aKey, anApp } from "./an-app.ts";

const database = testDatabase();

const worker = `
  import { HttpClient, LayoverError } from "layover/client";
  import { workflow } from "layover";
  const anything = workflow({ name: "anything", version: 1, input: { "~standard": { version: 1 } } });
  export default {
    async fetch(_request, { API, URL: url, KEY: apiKey }) {
      const remote = new HttpClient({ url, apiKey });
      const run = await remote.start(anything, { at: new Date(0), big: 1n });
      const bound = new HttpClient({ url: "http://api", apiKey, fetch: API.fetch.bind(API) });
      const { input } = await bound.get(run.runId);
      const error = await bound.get(crypto.randomUUID()).catch((error) => error);
      return Response.json({
        runId: run.runId,
        isNew: run.isNew,
        isDate: input.at instanceof Date,
        big: String(input.big),
        code: error instanceof LayoverError && error.code,
      });
    },
  };`;

it("starts a run over a network that loses an answer, and reads it back through a service binding", async () => {
  const { app } = anApp(database.query);
  const server = await aFaultyServer(app, ["cut"]);
  const { outputFiles } = await build({
    stdin: { contents: worker, resolveDir: fileURLToPath(new URL("../..", import.meta.url)) },
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "layover-source"],
    write: false,
  });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0]?.text ?? "" }],
    compatibilityDate: "2026-08-01",
    bindings: { URL: server.url, KEY: aKey() },
    serviceBindings: {
      API: async (request: MiniflareRequest) => {
        const { method, url } = request;
        const answer = await app.request(url, { method, headers: Object.fromEntries(request.headers) });
        return new MiniflareResponse(await answer.text(), {
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
        });
      },
    },
    cf: false,
    telemetry: { enabled: false },
  });
  onTestFinished(() => miniflare.dispose());
  const answer = await miniflare.dispatchFetch("http://worker/");
  expect(await answer.json()).toEqual({
    runId: expect.any(String),
    isNew: true,
    isDate: true,
    big: "1",
    code: "unknown_run",
  });
  expect(server.requests).toHaveLength(2);
});
