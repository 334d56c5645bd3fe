import { validate } from "@apidevtools/swagger-parser";
import { openapi } from "layover/openapi";
import { replayCheck } from "layover/replay-check";
import { answer, webhook } from "layover/webhooks";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Contract, workflow } from "../../../src/core/contract/contract.ts";
import { errorCodes } from "../../../src/core/errors.ts";
import { readApiKey, scopes } from "../../../src/http/api-key.ts";
import type { AppOptions } from "../../../src/http/app.ts";
import { descriptions } from "../../../src/http/openapi/document.ts";
import { mountWebhooks } from "../../../src/http/webhooks/mount.ts";
import { testDatabase } from "../../postgres/database.ts";
import { aKey, anApp, authorized, order, orderV2 } from "../an-app.ts";

const database = testDatabase();

const Operation = z.object({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(z.object({ name: z.string(), in: z.string(), schema: z.unknown() })).optional(),
  requestBody: z.unknown().optional(),
  responses: z.record(z.string(), z.unknown()),
});
const Document = z.object({
  openapi: z.string(),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
});

const shop = webhook({
  name: "shop",
  verify: { sender: "a shop", asksByGet: true, verify: () => ({ outcome: "refused", reason: "not now" }) },
  on: () => answer({ body: "thanks" }),
});

async function documentOf(options: Partial<AppOptions> = {}, path = "/openapi.json") {
  const { app } = anApp(database.query, options);
  const response = await app.request(path, { headers: authorized });
  expect(response.status).toBe(200);
  const json: unknown = await response.json();
  // It puts what is referred to in the place of the references, so it gets a document of its own.
  await validate(structuredClone(json) as Parameters<typeof validate>[0]);
  return Document.parse(json);
}

describe("the OpenAPI document", () => {
  it("is a valid document of version 3.1, with every route but what a deployment sends to itself", async () => {
    const { openapi, paths } = await documentOf({ webhooks: mountWebhooks([shop], { env: {}, tell: () => {} }) });
    expect(openapi).toBe("3.1.0");
    const ids = Object.values(paths).flatMap((atPath) => Object.values(atPath).map(({ operationId }) => operationId));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      expect.arrayContaining(["startRun", "startOrder", "signalOrderAddress", "receiveShop", "getHealth"]),
    );
    expect(Object.keys(paths).filter((path) => path.includes("internal"))).toEqual([]);
    expect(paths["/webhooks/shop"]?.["post"]?.security).toEqual([]);
  });

  it("tells that a delivery may be accepted, and that a sender may be answered as the code of the webhook says", async () => {
    const { paths } = await documentOf({ webhooks: mountWebhooks([shop], { env: {}, tell: () => {} }) });
    const { post, get } = paths["/webhooks/shop"] ?? {};
    expect(post?.responses).toMatchObject({ 202: { description: "Accepted." }, default: {} });
    expect(get?.responses).toMatchObject({ 200: {}, default: {} });
  });

  it("describes no route that there is not", async () => {
    const webhooks = mountWebhooks([shop], { env: {}, tell: () => {} });
    const { paths } = await documentOf({
      webhooks,
      replayCheck: replayCheck()({ workflows: [], deployment: { name: "node", id: "b1" } }),
    });
    const known = Object.entries(paths).flatMap(([path, atPath]) =>
      Object.keys(atPath).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
    );
    const described = Object.keys(descriptions()).map((key) => key.replace(/\/webhooks\/:name$/, "/webhooks/shop"));
    expect(known).toEqual(expect.arrayContaining(described));
  });

  it("names the scopes that each operation needs, and those that waiting needs as well", async () => {
    const { paths } = await documentOf();
    const securityOf = (method: string, path: string) => paths[path]?.[method]?.security;
    expect(securityOf("get", "/v1/runs")).toEqual([{ apiKey: ["read"] }]);
    expect(securityOf("post", "/v1/workflows/{name}/runs")).toEqual([
      { apiKey: ["start"] },
      { apiKey: ["start", "read"] },
    ]);
    expect(securityOf("post", "/v1/workflows/{name}/signals/{signal}")).toEqual([{ apiKey: ["start", "signal"] }]);
    expect(securityOf("post", "/v1/runs/{id}/cancel")).toEqual([{ apiKey: ["admin"] }]);
    expect(securityOf("get", "/openapi.json")).toEqual([{ apiKey: [] }]);
    for (const [method, path] of [
      ["get", "/health"],
      ["post", "/callbacks/{token}"],
    ] as const)
      expect(securityOf(method, path)).toEqual([]);
  });

  it("tells the parameters of a start, of a fork, and of a list", async () => {
    const { paths } = await documentOf();
    const named = (method: string, path: string) =>
      (paths[path]?.[method]?.parameters ?? []).map((parameter) => `${parameter.in} ${parameter.name}`);
    expect(named("post", "/v1/workflows/order/runs")).toEqual([
      "query wait",
      "header Idempotency-Key",
      "header traceparent",
    ]);
    expect(named("post", "/v1/runs/{id}/fork")).toEqual(["path id", "header Idempotency-Key"]);
    expect(paths["/v1/runs/{id}/fork"]?.["post"]?.parameters?.at(1)).toMatchObject({ schema: { format: "uuid" } });
    expect(named("get", "/v1/runs")).toEqual(expect.arrayContaining(["query tag", "query limit", "query cursor"]));
    expect(named("get", "/v1/runs/{id}/result")).toEqual(["path id", "query wait"]);
  });

  it("has every code of an error that can be answered", async () => {
    const { components } = await documentOf();
    expect(Reflect.get(Object(components.schemas["Problem"]?.["properties"]), "code")).toMatchObject({
      enum: Object.keys(errorCodes),
    });
  });

  it("has for each workflow the operations that its contract makes, by version", async () => {
    const { paths, components } = await documentOf({ contracts: [order, orderV2] });
    const body = JSON.stringify(paths["/v1/workflows/order/runs"]?.["post"]?.requestBody);
    expect(body).toContain('"input":{"$ref":"#/components/schemas/OrderV1Input"}');
    expect(body).toContain('"input":{"$ref":"#/components/schemas/OrderV2Input"}');
    expect(components.schemas["OrderV1Input"]).toMatchObject({ required: ["id"] });
    expect(components.schemas["OrderV1ParsedInput"]).toMatchObject({ required: ["id", "amount"] });
    const [newest, older] = z
      .object({
        content: z.object({ "application/json": z.object({ schema: z.object({ anyOf: z.array(z.unknown()) }) }) }),
      })
      .parse(paths["/v1/workflows/order/runs"]?.["post"]?.requestBody).content["application/json"].schema.anyOf;
    expect(newest).toMatchObject({ required: ["input"], properties: { version: { enum: [2] } } });
    expect(older).toMatchObject({ required: ["input", "version"], properties: { version: { enum: [1] } } });
  });

  it("is valid whatever workflows, signals and callbacks are called", async () => {
    const named = (name: string): Contract =>
      workflow({ name, version: 1, signals: { [name]: z.string() }, callbacks: { [name]: z.string() } });
    const names = ["a b", "a-b", "{id}", "50%", "Straße", "Run", "error", "1st", "☃", "$ref", "a.b~c"];
    const { paths } = await documentOf({ contracts: names.map(named) });
    for (const name of names) expect(Object.keys(paths)).toContain(`/v1/workflows/${encodeURIComponent(name)}/runs`);
  });

  it("is valid with schemas that hold themselves, and with those of which nothing is known", async () => {
    interface Node {
      readonly children: readonly Node[];
    }
    const Tree: z.ZodType<Node> = z.object({
      get children() {
        return z.array(Tree);
      },
    });
    const unknown = { "~standard": { version: 1, vendor: "mine", validate: (value: unknown) => ({ value }) } } as const;
    const contracts = [
      workflow({ name: "tree", version: 1, input: Tree, output: z.object({ tree: Tree }) }),
      workflow({ name: "mine", version: 1, input: unknown }),
    ];
    const { components } = await documentOf({ contracts });
    expect(JSON.stringify(components.schemas)).not.toMatch(/"#\/\$defs|"\$ref":"#"/);
    expect(components.schemas["MineInput"]).toEqual({
      description: "The library of this schema does not tell its shape.",
    });
  });
});

describe("who may read the document", () => {
  it("whoever has an API key, whatever its scopes, and nobody else", async () => {
    const { app } = anApp(database.query);
    const statusFor = async (headers: Record<string, string>) =>
      (await app.request("/openapi.json", { headers })).status;
    expect(await statusFor({})).toBe(401);
    expect(await statusFor({ authorization: "Bearer lok_e30.forged" })).toBe(401);
    for (const scope of scopes) expect(await statusFor({ authorization: `Bearer ${aKey(scope)}` })).toBe(200);
  });

  it("nobody any more whose key was revoked", async () => {
    const { app, calls } = anApp(database.query);
    const key = aKey("read");
    await calls.revokeKey({ keyId: readApiKey(key)?.keyId ?? "" });
    const response = await app.request("/openapi.json", { headers: { authorization: `Bearer ${key}` } });
    expect([response.status, await response.json()]).toMatchObject([401, { detail: "the API key was revoked" }]);
  });

  it("everybody where it is public, without a statement", async () => {
    const { app, statements } = anApp(database.query, { openapi: openapi({ public: true }) });
    expect((await app.request("/openapi.json")).status).toBe(200);
    expect(statements).toEqual([]);
  });

  it("says where it was found, so a generated client asks under the same prefix", async () => {
    const { app } = anApp(database.query, { openapi: openapi({ public: true, title: "Shop" }) });
    const { Hono } = await import("hono");
    const outer = new Hono().route("/shop/layover", app);
    const response = await outer.request("/shop/layover/openapi.json");
    expect(await response.json()).toMatchObject({ info: { title: "Shop" }, servers: [{ url: "/shop/layover" }] });
  });
});
