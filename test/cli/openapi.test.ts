import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { validate } from "@apidevtools/swagger-parser";
import { expect, test } from "vitest";
import { aFolder, layover } from "./layover.ts";

const functions = (path: string) => fileURLToPath(new URL(`../../functions/${path}`, import.meta.url));

test("layover openapi writes the document of the reference deployment, with its workflows and webhooks, without a server", async () => {
  const folder = aFolder();
  const args = ["openapi", functions("workflows"), "--webhooks", functions("webhooks")];
  const env = { LAYOVER_URL: "https://shop.example/layover" };
  const written = await layover([...args, "--out", "openapi.json", "--title", "Shop"], { folder, env });
  expect(written).toEqual({ status: 0, stdout: "The OpenAPI document is in openapi.json.\n", stderr: "" });
  const document: unknown = JSON.parse(readFileSync(join(folder, "openapi.json"), "utf8"));
  await validate(structuredClone(document) as Parameters<typeof validate>[0]);
  expect(document).toMatchObject({
    openapi: "3.1.0",
    info: { title: "Shop" },
    servers: [{ url: "https://shop.example/layover" }],
    paths: {
      "/v1/workflows/order/runs": { post: { operationId: "startOrder" } },
      "/v1/workflows/order/ids/{id}/signals/address": { post: { operationId: "signalOrderAddress" } },
      "/v1/runs/{id}/callbacks/approval/resolve": { post: { operationId: "resolveApproval" } },
      "/webhooks/shop": { post: { operationId: "receiveShop" } },
      "/openapi.json": { get: { operationId: "getOpenApi" } },
    },
  });
  const printed = await layover([...args, "--title", "Shop"], { folder, env });
  expect(JSON.parse(printed.stdout)).toEqual(document);
});

test("layover openapi needs no webhooks, and says what it does not find or cannot write", async () => {
  const folder = aFolder();
  const { status, stdout } = await layover(["openapi", functions("workflows")], { folder });
  expect([status, Object.keys(JSON.parse(stdout).paths).filter((path) => path.includes("webhooks"))]).toEqual([0, []]);
  const said = await Promise.all([
    layover(["openapi"], { folder }),
    layover(["openapi", functions("workflows"), "--webhooks", "hooks"], { folder }),
    layover(["openapi", functions("workflows"), "--out", "none/openapi.json"], { folder }),
  ]);
  expect(said.map(({ status }) => status)).toEqual([1, 1, 1]);
  expect(said[0]?.stderr).toContain("There is no functions/workflows in");
  expect(said[1]?.stderr).toContain("There is no folder hooks in");
  expect(said[2]?.stderr).toContain("none/openapi.json could not be written");
});
