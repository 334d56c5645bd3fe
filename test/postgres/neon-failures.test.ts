/**
 * A request of the adapter for Neon that fails: whether its statement may have taken effect, and what the error says.
 */
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { neon } from "../../src/postgres/neon.ts";
import { testDatabase } from "./database.ts";
import {
  answered,
  type Fate,
  halfAnswered,
  late,
  type NeonEndpoint,
  openNeonEndpoint,
  refused,
  unanswered,
  unread,
} from "./neon-endpoint.ts";
import { clientLeaves, noCompute, over, stopTime } from "./over-neon.ts";
import { failureOf } from "./query-conformance.ts";

function fetchWith(instead: typeof fetch): void {
  vi.stubGlobal("fetch", instead);
  onTestFinished(() => void vi.unstubAllGlobals());
}

describe("a request that fails", () => {
  const database = testDatabase({ isEmpty: true });
  let endpoint: NeonEndpoint;
  let password: string;

  beforeEach(async () => {
    endpoint = await openNeonEndpoint(database.url);
    password = new URL(database.url).password;
    stopTime();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await endpoint.close();
  });

  test.each<[string, Fate]>([
    ["whose connection is cut before it is read", unread],
    ["whose answer is dropped", unanswered],
    ["whose answer breaks off in the middle", halfAnswered],
    ["that gets a 500 of Neon's own", noCompute],
    ["that gets a 502 of a proxy's", refused(502, "<html>Bad gateway</html>")],
    ["that gets a 503 and nothing more", refused(503)],
    ["that gets a 400 without Postgres' code", refused(400, `{"message":"invalid hostname","code":null}`)],
    ["that gets a 400 which is no JSON", refused(400, "Bad request")],
    ["that gets an answer which is none", refused(200, "<html>Sign in to this wifi</html>")],
    ["that gets an answer without rows", refused(200, `{"message":"welcome"}`)],
  ])("%s leaves open whether it took effect, and is sent once", async (_, fate) => {
    endpoint.next(fate);
    const failed = await failureOf(over(endpoint)("select 1"));
    expect(failed).toMatchObject({ isRolledBack: false, sqlState: undefined });
    expect(failed.message).not.toBe("");
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(password);
    expect(endpoint.arrivals).toBe(1);
  });

  test.each([
    ["57P01", "FATAL", false],
    ["08006", "ERROR", false],
    ["40P01", "ERROR", true],
    ["53300", "ERROR", true],
  ])("with the code %s (%s) took no effect: %s", async (code, severity, isRolledBack) => {
    endpoint.next(refused(400, JSON.stringify({ message: "no", code, severity })));
    expect(await failureOf(over(endpoint)("select 1"))).toMatchObject({ sqlState: code, isRolledBack });
  });

  test.each([
    ["ECONNREFUSED", true],
    ["ENOTFOUND", true],
    ["EAI_AGAIN", true],
    ["UND_ERR_CONNECT_TIMEOUT", true],
    ["ECONNRESET", false],
    ["EPIPE", false],
    ["UND_ERR_SOCKET", false],
  ])("with the network's %s took no effect: %s", async (code, isRolledBack) => {
    const cause = Object.assign(new Error("the network said no"), { code });
    fetchWith(async () => {
      throw new TypeError("fetch failed", { cause });
    });
    const failed = await failureOf(over(endpoint)("select 1"));
    expect(failed).toMatchObject({ message: "the network said no", isRolledBack, sqlState: undefined });
  });

  test("because nobody listens says so, and took no effect for certain", async () => {
    await endpoint.close();
    const failed = await failureOf(over(endpoint)("select 1"));
    expect(failed).toMatchObject({ isRolledBack: true, sqlState: undefined });
    expect(failed.message).toContain("ECONNREFUSED");
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain(password);
    endpoint = await openNeonEndpoint(database.url);
  });

  test("because there is no such host took no effect for certain", async () => {
    const query = neon("postgres://ann:hush-hush@no-such-host.invalid/main");
    expect(await failureOf(query("select 1"))).toMatchObject({ isRolledBack: true, sqlState: undefined });
  });

  test("because a proxy refuses it says what the proxy said, in short", async () => {
    endpoint.next(refused(502, `<html>Bad gateway${" ".repeat(10_000)}</html>`));
    const { message } = await failureOf(over(endpoint)("select 1"));
    expect(message).toContain("HTTP status 502): <html>Bad gateway");
    expect(message.length).toBeLessThan(300);
  });

  test("because something else answers says so", async () => {
    endpoint.next(refused(200, `{"message":"welcome"}`));
    expect((await failureOf(over(endpoint)("select 1"))).message).toContain("is not Neon's endpoint");
  });

  test("because it is sent elsewhere does not go there, with its password", async () => {
    const elsewhere = await openNeonEndpoint(database.url);
    onTestFinished(() => elsewhere.close());
    endpoint.next(refused(307, "", { location: elsewhere.fetchEndpoint }));
    expect(await failureOf(over(endpoint)("select 1"))).toMatchObject({ isRolledBack: false, sqlState: undefined });
    expect([endpoint.arrivals, elsewhere.arrivals]).toEqual([1, 0]);
  });

  test("because the password is wrong says so, and keeps the password", async () => {
    const url = new URL(endpoint.url);
    url.password = "hush-hush";
    const failed = await failureOf(over({ ...endpoint, url: url.href })("select 1"));
    expect(failed.sqlState).toBe("28P01");
    expect(inspect(failed, { depth: 10, showHidden: true })).not.toContain("hush-hush");
  });

  test("because its client left after the commit leaves open whether it took effect, and did", async () => {
    await database.query("create table done (id integer)");
    endpoint.next(clientLeaves(15_000));
    const failed = await failureOf(over(endpoint)("insert into done values (1)"));
    expect(failed).toMatchObject({ message: "Neon did not answer within 15000 ms.", isRolledBack: false });
    expect(await database.query("select id from done")).toEqual([{ id: 1 }]);
  });

  test("because its client left before the commit leaves open whether it took effect, and is cancelled", async () => {
    const isAsleep = "query like 'select pg_sleep%' and state = 'active'";
    const sleepers = async () => await database.query(`select pid from pg_stat_activity where ${isAsleep}`);
    const failed = failureOf(over(endpoint, { timeoutMs: 3_000 })("select pg_sleep(25)"));
    await expect.poll(sleepers).toHaveLength(1);
    vi.advanceTimersByTime(3_000);
    expect(await failed).toMatchObject({ message: "Neon did not answer within 3000 ms.", isRolledBack: false });
    await expect.poll(sleepers).toEqual([]);
  });

  test("is no longer waited for: no timer is left behind", async () => {
    const signals: (AbortSignal | null | undefined)[] = [];
    const { fetch } = globalThis;
    fetchWith((address, request) => {
      signals.push(request?.signal);
      return fetch(address, request);
    });
    endpoint.next(answered, refused(503));
    await over(endpoint)("select 1");
    await failureOf(over(endpoint)("select 1"));
    vi.advanceTimersByTime(60_000);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false, false]);
  });

  test("by being two seconds late only has not failed", async () => {
    const { promise: answering, resolve: answer } = Promise.withResolvers<void>();
    endpoint.next(late(answering));
    const rows = over(endpoint)("select 1 as one");
    await expect.poll(() => endpoint.bodies.length).toBe(1);
    vi.advanceTimersByTime(2_000);
    answer();
    expect(await rows).toEqual([{ one: 1 }]);
    expect(endpoint.arrivals).toBe(1);
  });
});
