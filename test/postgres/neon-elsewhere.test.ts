import { afterEach, expect, test, vi } from "vitest";
import { neon } from "../../src/postgres/neon.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const unknownHost = () =>
  Promise.reject(
    new TypeError("fetch failed", { cause: Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }) }),
  );

test("where another Postgres is asked as if it were Neon's, the error says by what to ask it", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(unknownHost);
  const query = neon("postgresql://me:hidden@db.example.com/app");
  await expect(query("select 1")).rejects.toThrow(
    "db.example.com is no host of Neon's by its name: for any other Postgres use pg() of layover/pg, with nodejs_compat",
  );
  await expect(query("select 1")).rejects.not.toThrow("hidden");
});

test("a host of Neon's that cannot be reached is no other Postgres", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(unknownHost);
  const query = neon("postgresql://me:hidden@ep-cool-1.eu-central-1.aws.neon.tech/app");
  await expect(query("select 1")).rejects.not.toThrow("layover/pg");
});
