/** The examples on the pages of rooms are files that compile and run. */
import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { secrets } from "./postgres/encryption/keys.ts";

test.each([
  ["src/postgres/encryption/README.md", "test/postgres/encryption/setup.ts"],
  ["src/platform/telemetry/README.md", "test/platform/tracing-setup.ts"],
])("that of %s is %s", (page, file) => {
  const [, example] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(page, "utf8")) ?? [];
  const [, ...lines] = readFileSync(file, "utf8").split("\n");
  expect(lines.join("\n")).toBe(example);
});

test("the one of encryption makes a database that seals", async () => {
  vi.stubEnv("DATABASE_URL", "postgres://localhost/orders");
  vi.stubEnv("LAYOVER_KEY_1", secrets.k1);
  vi.stubEnv("LAYOVER_KEY_2", secrets.k2);
  vi.stubEnv("LAYOVER_SAMENESS", secrets.sameness);
  const { database } = await import("./postgres/encryption/setup.ts");
  expect(database.sealing).toBeDefined();
  expect(database.endpoint).toBe("localhost/orders");
});

test("the one of telemetry makes what serve takes", async () => {
  const { tracing } = await import("./platform/tracing-setup.ts");
  expect(tracing.beginTurn).toBeTypeOf("function");
});
