import { afterEach, expect, test, vi } from "vitest";
import { endpointOf } from "../../src/postgres/endpoint.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["postgres://ann:secret@db.example.com:5433/shop", "db.example.com/shop"],
  ["postgresql://DB.Example.com/Shop?sslmode=require", "db.example.com/shop"],
  ["postgres://ann:p@ss/w:rd@db.example.com/shop", "db.example.com/shop"],
  [
    "postgres://ann:secret@ep-cool-rain-123-pooler.eu-central-1.aws.neon.tech/shop",
    "ep-cool-rain-123.eu-central-1.aws.neon.tech/shop",
  ],
  ["postgres://ann:secret@my-pooler.example.com/my-pooler", "my.example.com/my-pooler"],
  ["postgres://ann:secret@db.my-pooler.example.com/shop", "db.my-pooler.example.com/shop"],
  ["postgres://ann:secret@my-pooler/shop", "my-pooler/shop"],
  ["postgres://ann:secret@[::1]:5432/shop", "::1/shop"],
  ["postgres://ann@db.example.com", "db.example.com/ann"],
  ["postgres://ann@/shop?host=/var/run/postgresql", "/var/run/postgresql/shop"],
  ["postgres://ann@%2Fvar%2Frun/shop", "/var/run/shop"],
  ["postgres://ann:p?ss@db.example.com/shop", "db.example.com/shop"],
  ["postgres://ann:secret@db.example.com/shop?application_name=me@home", "db.example.com/shop"],
  ["postgres://ann:100%@db.example.com/sh%20op", "db.example.com/sh op"],
])("%s is %s", (connectionString, endpoint) => {
  expect(endpointOf({ connectionString })).toBe(endpoint);
});

test("what an address leaves out comes from the environment, as for node-postgres", () => {
  vi.stubEnv("PGHOST", "env.example.com");
  vi.stubEnv("PGDATABASE", "from_env");
  expect(endpointOf({})).toBe("env.example.com/from_env");
  expect(endpointOf({ host: "here", database: "this" })).toBe("here/this");
  expect(endpointOf({ host: "here", database: "this", connectionString: "postgres://there/that" })).toBe("there/that");
});

test("an address that says nothing is the local one", () => {
  for (const name of ["PGHOST", "PGDATABASE", "PGUSER"]) vi.stubEnv(name, undefined);
  expect(endpointOf({ user: "ann" })).toBe("localhost/ann");
  expect(endpointOf({ connectionString: "nonsense with hush-hush in it" })).toBe("localhost/postgres");
});
