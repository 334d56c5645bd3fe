/** What `layover doctor` says of the alarm that rings the deployment. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AlarmStatus, verifyStatus } from "../../src/http/alarm.ts";
import { signatureHeader } from "../../src/http/signature.ts";
import { report } from "./doctor-report.ts";
import { secret, secrets } from "./layover.ts";

/** Answers for the alarm of the app `orders`. */
async function anAlarm(status: Partial<AlarmStatus> | number): Promise<string> {
  const now = Date.UTC(2026, 10, 20, 12);
  const well = { app: "orders", url: "https://orders.example", now, standing: 2, nextRingAt: now + 60_000 };
  const told = { ...well, answeredAt: now - 60_000, failures: 0, lastFailure: null, parkedAt: null };
  const server = createHttpServer(async (request, answer) => {
    const headers = new Headers({ [signatureHeader]: String(request.headers[signatureHeader]) });
    const asked = new Request(`http://alarm${request.url}`, { headers });
    await verifyStatus(asked, { secrets, app: "orders", nowMs: Date.now() });
    answer.writeHead(typeof status === "number" ? status : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify(typeof status === "number" ? {} : { ...told, ...status }));
  }).listen(0);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  return `http://localhost:${typeof address === "object" ? address?.port : 0}/apps/orders`;
}

describe("layover doctor", () => {
  test.each<[string, Partial<AlarmStatus> | number, RegExp]>([
    ["is well", {}, /^well: It last rang at 2026-11-20 11:59:00; 2 instants stand, the next ring is at .*12:01:00\.$/],
    ["was never armed", { answeredAt: null, nextRingAt: null, standing: 0 }, /^well: It has not rung yet; .*nothing/],
    [
      "cannot reach the deployment",
      { failures: 3, lastFailure: "it has answered 502" },
      /^problem: The last 3 rings at https:\/\/orders\.example failed: it has answered 502\. →/,
    ],
    [
      "has parked it",
      { parkedAt: Date.UTC(2026, 10, 19), lastFailure: "it has answered 404" },
      /^problem: It has not rung .* since 2026-11-19 00:00:00, .*404.*APPS/,
    ],
    ["is late", { nextRingAt: Date.UTC(2026, 10, 20, 11, 50) }, /^problem: It should have rung .*11:50:00.*cron/],
    ["has another key", 401, /^problem: .*401.* has another key\. → .*ORDERS_KEY/],
    ["is broken", 500, /^problem: .*answered 500\. →/],
  ])("asks the alarm, which %s", async (_, status, says) => {
    const alarm = await anAlarm(status);
    expect((await report({ LAYOVER_SECRET: secret, LAYOVER_ALARM: alarm }))["alarm"]).toMatch(says);
  });

  test("says what is wrong with the alarm's address, or that nobody is there", async () => {
    const env = { LAYOVER_SECRET: secret };
    expect((await report({ ...env, LAYOVER_ALARM: "https://alarm.example" }))["alarm"]).toMatch(
      /^problem: .*is no address of an app at its alarm\. → Give the address/,
    );
    expect((await report({ ...env, LAYOVER_ALARM: "http://localhost:9/apps/orders" }))["alarm"]).toMatch(
      /^problem: The alarm at .*cannot be asked: .* → Look at LAYOVER_ALARM/,
    );
    expect(await report(env)).not.toHaveProperty("alarm");
  });
});
