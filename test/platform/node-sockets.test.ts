/** What a server of Node's does with requests that no HTTP library would send, on real sockets. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { newRooms } from "../../src/http/room.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { closeAtOnce, listen, newServer } from "../../src/platform/node/listener.ts";
import { aTurnedHost } from "../http/a-slow-body.ts";
import { anApp, authorized } from "../http/an-app.ts";
import { testDatabase } from "../postgres/database.ts";

const secret = "bm90IHJhbmRvbSwgYnV0IGZvciB0aGlzIHRlc3QgaXQgaXMgZ29vZCBlbm91Z2g";

describe("a server of Node's", () => {
  const database = testDatabase();
  const errors: unknown[] = [];
  let server: NodeServer;

  beforeAll(async () => {
    const onError = (error: unknown) => void errors.push(error);
    server = await serve({
      workflows: [],
      database: database.query,
      secrets: [secret],
      port: 0,
      prefix: "/layover",
      cors: { origin: "https://shop.example.com" },
      onError,
    });
  });
  afterAll(() => server.close());

  async function open(): Promise<Socket> {
    const socket = connect(Number(new URL(server.url).port), "localhost");
    await once(socket, "connect");
    return socket.setEncoding("utf8");
  }

  async function answerTo(head: string): Promise<string> {
    const socket = await open();
    socket.end(head);
    let answer = "";
    for await (const text of socket) answer += text;
    return answer;
  }

  test.each(["0..0", "a b", "[", "x:99999", "", "a/b"])(
    "answers 400 to the Host %j, without a word in the log",
    async (host) => {
      const answer = await answerTo(
        `GET /layover/callbacks/s3cret HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).not.toContain("s3cret");
      expect(errors).toEqual([]);
    },
  );

  test("answers a GET whose body never ends, and closes the connection", async () => {
    const socket = await open();
    socket.on("error", () => {}); // it is closed while something is on its way
    const closed = new Promise<void>((resolve) => {
      socket.on("close", () => resolve());
    });
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const pour = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", pour);
    let answer = "";
    socket.on("data", (text) => {
      answer += text;
    });
    socket.write("GET /layover/health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    await once(socket, "data");
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    pour();
    await closed;
  });

  test("answers a body that never ends with 408, and closes the connection", async () => {
    const { host, pass } = aTurnedHost();
    const { app } = anApp(database.query, { rooms: newRooms(host) });
    const slow = newServer(async (request) => await app.fetch(request));
    const socket = connect(await listen(slow, 0, "localhost"), "localhost").setEncoding("utf8");
    onTestFinished(() => closeAtOnce(slow));
    const head = `POST /v1/workflows/bare/runs HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorized.authorization}`;
    socket.write(`${head}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
    await expect.poll(() => host.next).toBe(60_000);
    pass(60_000);
    let answer = "";
    for await (const text of socket) answer += text;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"body_too_slow"');
  });

  test("answers a problem document at every path, under its prefix and beside it", async () => {
    for (const path of ["/layover", "/layover/", "/layover/nothing", "/", "/nothing"]) {
      const response = await fetch(new URL(path, server.url));
      expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
      expect(await response.json()).toMatchObject({ code: "not_found" });
    }
  });

  test("lets those websites call it that it is told of, with their key, and no others", async () => {
    const ask = async (origin: string, method = "GET") => {
      const { status, headers } = await fetch(`${server.url}/v1/runs`, { method, headers: { origin } });
      return [status, headers.get("access-control-allow-origin")];
    };
    expect(await ask("https://shop.example.com", "OPTIONS")).toEqual([204, "https://shop.example.com"]);
    expect(await ask("https://shop.example.com")).toEqual([401, "https://shop.example.com"]);
    expect(await ask("https://other.example.com")).toEqual([401, null]);
    const { headers } = await fetch(`${server.url}/v1/runs`, {
      method: "OPTIONS",
      headers: { origin: "https://shop.example.com", "access-control-request-headers": "authorization" },
    });
    expect(headers.get("access-control-allow-headers")).toContain("authorization");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
  });
});
