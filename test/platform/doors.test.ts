/** The door of a server of Node's: who may knock there, and what is an address. */
import { networkInterfaces } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { type ArmMessage, armPath, armRequest } from "../../src/http/arm.ts";
import { Secrets } from "../../src/http/secrets.ts";
import { sign, signatureHeader } from "../../src/http/signature.ts";
import { type NodeOptions, type NodeServer, serve } from "../../src/platform/node/index.ts";
import { doorOf } from "../../src/platform/node/neighbours/door.ts";
import { testDatabase } from "../postgres/database.ts";

const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";
const secrets = new Secrets([secret]);
const database = testDatabase();
const servers: NodeServer[] = [];
let namespaces = 0;

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function aServer(options: Partial<NodeOptions>): Promise<NodeServer> {
  const terms = { workflows: [], database: database.query, secrets: [secret], port: 0, hostname: "127.0.0.1" };
  const server = await serve({ ...terms, ...options });
  servers.push(server);
  return server;
}

function aMessage(to: string): ArmMessage {
  const from = { id: crypto.randomUUID(), door: "http://127.0.0.1:1", versions: {} };
  return { to, from, instants: [] };
}

async function statusOf(url: string, request: RequestInit): Promise<readonly [number, unknown]> {
  const response = await fetch(`${url}${armPath}`, request);
  const text = await response.text();
  return [response.status, text === "" ? undefined : JSON.parse(text).code];
}

describe("a server with a door", () => {
  test("takes messages that are signed for it, and no others", async () => {
    namespaces += 1;
    const namespace = `doors-${namespaces}`;
    const server = await aServer({ namespace, prefix: "/layover", processes: { door: "auto" } });
    const listed = async () =>
      await database.query("select id, door from layover.process where namespace = $1", [namespace]);
    await expect.poll(listed).toHaveLength(1);
    const [row] = await listed();
    expect(row?.["door"]).toBe(server.url);
    const to = String(row?.["id"]);
    const signing = { secrets, namespace };
    expect(await statusOf(server.url, armRequest(aMessage(to), signing))).toEqual([204, undefined]);
    expect(await statusOf(server.url, armRequest(aMessage(crypto.randomUUID()), signing))).toEqual([
      421,
      "misdirected",
    ]);
    expect(await statusOf(server.url, { method: "POST", body: JSON.stringify(aMessage(to)) })).toEqual([
      401,
      "unauthorized",
    ]);
    const elsewhere = armRequest(aMessage(to), { secrets, namespace: "another" });
    expect(await statusOf(server.url, elsewhere)).toEqual([401, "unauthorized"]);
    // A signature for carrying out turns counts for nothing here.
    const body = JSON.stringify(aMessage(to));
    const headers = { [signatureHeader]: sign(armPath, body, signing) };
    expect(await statusOf(server.url, { method: "POST", headers, body })).toEqual([401, "unauthorized"]);
  });

  test("lists itself no more once it is closed", async () => {
    namespaces += 1;
    const namespace = `doors-${namespaces}`;
    const server = await aServer({ namespace, processes: { door: "auto" } });
    const listed = async () => await database.query("select from layover.process where namespace = $1", [namespace]);
    await expect.poll(listed).toHaveLength(1);
    await server.close();
    expect(await listed()).toEqual([]);
  });
});

test.each([[undefined], [{ door: undefined }]])("a server without a door, by %o, has none", async (processes) => {
  const server = await aServer({ processes });
  const request = armRequest(aMessage(crypto.randomUUID()), { secrets, namespace: "default" });
  expect(await statusOf(server.url, request)).toEqual([404, "not_found"]);
});

describe("a door", () => {
  const port = 3_000;

  test.each([
    ["http://10.0.0.7:3000", "http://10.0.0.7:3000/layover"],
    ["https://10.0.0.7/", "https://10.0.0.7/layover"],
    ["http://[fdaa::7]:3000", "http://[fdaa::7]:3000/layover"],
  ])("is %s with the prefix", (door, expected) => {
    expect(doorOf({ door }, { port, prefix: "/layover" })).toBe(expected);
  });

  test.each(["", "10.0.0.7:3000", "ftp://10.0.0.7", "http://10.0.0.7/layover", "http://me:pw@10.0.0.7", "http://a?b"])(
    "is not %j",
    (door) => {
      expect(() => doorOf({ door }, { port, prefix: "" })).toThrow("processes.door");
    },
  );

  test("is found by itself: where the server listens, or an address of the machine", () => {
    const auto = (hostname?: string) => doorOf({ door: "auto" }, { hostname, port, prefix: "" });
    expect(auto("10.0.0.7")).toBe("http://10.0.0.7:3000");
    expect(auto("::1")).toBe("http://[::1]:3000");
    const { hostname = "" } = new URL(auto("0.0.0.0") ?? "");
    const own = Object.values(networkInterfaces()).flatMap((some) => (some ?? []).map(({ address }) => address));
    expect([...own, "localhost"]).toContain(hostname.replace(/^\[(.*)\]$/, "$1"));
    expect(auto()).toBe(auto("::"));
  });
});
