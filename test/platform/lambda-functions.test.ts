/** The functions http and turns of AWS Lambda: what each answers and carries out, and which options are refused. */
import { createHmac } from "node:crypto";
import { dashboard } from "layover/dashboard";
import { openapi } from "layover/openapi";
import { hmac, start as startRun, webhook } from "layover/webhooks";
import { beforeEach, describe, expect, test } from "vitest";
import type { LambdaFunctions } from "../../src/platform/lambda/serve.ts";
import { testDatabase } from "../postgres/database.ts";
import { secret } from "./a-worker.ts";
import { call, context, keyOf, PlayedLambda, start, still } from "./played-lambda.ts";

const database = testDatabase();
let lambda: PlayedLambda;

beforeEach(() => {
  lambda = new PlayedLambda(database);
});

describe("a webhook", () => {
  const shop = webhook({
    name: "shop",
    verify: hmac({ header: "x-shop", secret: (env) => env["SHOP_SECRET"], delivery: "x-id" }),
    on: ({ event }) => startRun(still.contract, undefined, { id: Object(event).order }),
  });
  const deliver = async (of: LambdaFunctions, by: string) => {
    const body = '{"order":"o1"}';
    const headers = {
      host: "example.com",
      "x-id": "d1",
      "x-shop": createHmac("sha256", by).update(body).digest("hex"),
    };
    const request = { domainName: "example.com", http: { method: "POST", path: "/webhooks/shop" } };
    const event = { version: "2.0", rawPath: "/webhooks/shop", rawQueryString: "", headers, requestContext: request };
    const whole = { ...event, body: Buffer.from(body).toString("base64"), isBase64Encoded: true };
    const answer = await of.http(whole as unknown as Parameters<LambdaFunctions["http"]>[0], context);
    return [answer.statusCode, Object(JSON.parse(answer.body)).outcome];
  };

  test("has its secret from a parameter, starts a run and invokes what carries it out", async () => {
    lambda.parameters.set("/orders/shop-secret", "of the shop");
    const of = lambda.functions({ webhooks: [shop], parameters: ["shop-secret"] });
    expect(await deliver(of, "of somebody else")).toEqual([401, undefined]);
    expect(lambda.statements).toEqual([]);
    expect(await deliver(of, "of the shop")).toEqual([200, "done"]);
    expect(await deliver(of, "of the shop")).toEqual([200, "duplicate"]);
    expect(lambda.statements).toEqual(["read_clock", "receive_delivery", "receive_delivery"]);
    expect(lambda.invoked).toHaveLength(2); // the second dispatches it again, since nobody has claimed it
  });

  test("takes a new secret as soon as a request is refused that it signs", async () => {
    const of = lambda.functions({ webhooks: [shop], parameters: ["shop-secret"] });
    expect(await deliver(of, "new")).toEqual([401, undefined]);
    lambda.parameters.set("/orders/shop-secret", "new");
    lambda.ahead = { wall: 61_000, monotonic: 61_000 };
    expect((await deliver(of, "new"))[0]).toBe(200);
  });
});

describe("the dashboard", () => {
  const ask = async (of: LambdaFunctions, path: string, { cookies = [] as readonly string[], body = "" } = {}) => {
    const method = body === "" ? "GET" : "POST";
    const headers = { host: "example.com", "content-type": "application/json", origin: "https://example.com" };
    const requestContext = { domainName: "example.com", http: { method, path } };
    const event = { version: "2.0", rawPath: path, rawQueryString: "", headers, cookies, requestContext, body };
    const answer = await of.http(event as unknown as Parameters<LambdaFunctions["http"]>[0], context);
    const { statusCode: status, body: text, isBase64Encoded } = answer;
    return { status, cookies: Object(answer).cookies, text: isBase64Encoded ? atob(text) : text };
  };

  test("signs people in by the cookies of a function URL, without SQL, and shows them runs", async () => {
    const of = lambda.functions({ dashboard: dashboard({ title: "Shop" }) });
    const body = JSON.stringify({ key: keyOf(secret) });
    const { status, cookies } = await ask(of, "/dashboard/sign-in", { body });
    expect([status, cookies]).toEqual([200, [expect.stringMatching(/^__Host-layover-session=.*Secure/)]]);
    expect(lambda.statements).toEqual([]);
    const [cookie = ""] = cookies[0].split(";");
    const page = await ask(of, "/dashboard/", { cookies: [cookie] });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("<h1>Runs</h1>")]);
  });
});

test("the function http answers the OpenAPI document where it is mounted, without a statement if it is public", async () => {
  const of = lambda.functions({ openapi: openapi({ public: true }) });
  const request = { domainName: "example.com", http: { method: "GET", path: "/openapi.json" } };
  const event = { version: "2.0", rawPath: "/openapi.json", rawQueryString: "", headers: {}, requestContext: request };
  const answer = await of.http(event as unknown as Parameters<LambdaFunctions["http"]>[0], context);
  expect([answer.statusCode, lambda.statements]).toEqual([200, []]);
  expect(Object.keys(JSON.parse(answer.body).paths)).toContain("/v1/workflows/still/runs");
});

describe("turns", () => {
  test("carries out what was dispatched", async () => {
    const of = lambda.functions();
    const runId = await start(of);
    expect(lambda.invoked).toMatchObject([{ name: "turns", event: { turns: [{ runId, turn: 1 }] } }]);
    await of.turns(lambda.invoked[0]?.event, context);
    expect((await call(of, "GET", `/v1/runs/${runId}`)).body).toMatchObject({ status: "completed", result: "done" });
  });

  test("arms nothing that its sender has armed", async () => {
    await start(lambda.functions());
    const before = lambda.schedules.length;
    await lambda.functions().turns(lambda.invoked[0]?.event, context);
    expect(lambda.schedules.length).toBe(before);
  });

  test.each([undefined, {}, { turns: 3 }, { turns: [{ runId: "x", turn: 1 }] }, "rubbish"])(
    "reports an event that names no turn, and sends no statement (%j)",
    async (event) => {
      await lambda.functions().turns(event, context);
      expect(String(lambda.reported[0])).toContain("names no turn");
      expect(lambda.statements).toEqual([]);
    },
  );

  test("fails a step that may take longer than an invocation, without beginning it", async () => {
    const of = lambda.functions();
    const runId = await start(of, "slow");
    await of.turns(lambda.invoked[0]?.event, context);
    expect((await call(of, "GET", `/v1/runs/${runId}`)).body).toMatchObject({
      status: "failed",
      error: { cause: { code: "exceeds_host", message: expect.stringContaining('step "video" may take 960 s') } },
    });
  });
});

test.each([
  [{ batch: 0 }, "batch: 0"],
  [{ batch: 1_001 }, "batch: 1001"],
  [{ namespace: "no good" }, "namespace"],
  [{ leaseMs: 5 }, "leaseMs"],
  [{ parameters: ["1", "2", "3", "4", "5", "6", "7"] }, "11 names, with layover's own"],
] as const)("options that cannot be are refused when the module is loaded: %j", (options, message) => {
  expect(() => lambda.functions(options)).toThrow(message);
});
