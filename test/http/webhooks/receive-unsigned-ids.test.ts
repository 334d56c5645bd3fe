/** A sender whose signature does not cover the ids of its deliveries: those are known by their bodies. */
import { createHmac } from "node:crypto";
import { githubSignature, hmac, ignore, none, start, webhook } from "layover/webhooks";
import { describe, expect, test } from "vitest";
import { Secrets } from "../../../src/http/secrets.ts";
import { secret, secrets } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { anything } from "../an-app.ts";
import { anAppBy, anAppWith, type Env } from "./a-webhook.ts";
import { runs } from "./shop.ts";

const database = testDatabase({ perTest: true });

describe("a sender whose ids are not signed", () => {
  const github = (options = {}) =>
    webhook<Env>({
      name: "github",
      verify: githubSignature(() => "hook"),
      on: ({ event }) => start(anything, event),
      ...options,
    });
  const sent = (guid: string, body: string): RequestInit => ({
    method: "POST",
    body,
    headers: {
      "x-hub-signature-256": `sha256=${createHmac("sha256", "hook").update(body).digest("hex")}`,
      "x-github-event": "push",
      "x-github-delivery": guid,
    },
  });

  test("cannot be made to deliver one body twice under another id", async () => {
    const app = anAppWith(database.query, github());
    const outcomes = [];
    for (const init of [sent("1", '{"n":1}'), sent("2", '{"n":1}'), sent("3", '{"n":2}')])
      outcomes.push(Object((await app.request("/webhooks/github", init)).body).outcome);
    expect(outcomes).toEqual(["done", "duplicate", "done"]);
    expect(await runs(app)).toHaveLength(2);
  });

  test("cannot do so either while the root secret is replaced", async () => {
    const replaced = new Secrets(["bX7t2QvLr9KpZ4wNcYf8JhEa3UsGd6MoT1iRxB5yC0k=", secret]);
    const outcomes = [];
    for (const [by, guid] of [
      [secrets, "1"],
      [replaced, "2"],
      [replaced, "3"],
    ] as const) {
      const app = anAppBy(by, database.query, github());
      outcomes.push(Object((await app.request("/webhooks/github", sent(guid, '{"n":1}'))).body).outcome);
      expect(app.called()).toEqual(["receive_delivery"]);
    }
    expect(outcomes).toEqual(["done", "duplicate", "duplicate"]);
  });

  test("may send the same body again where the user says so", async () => {
    const app = anAppWith(database.query, github({ sameBody: "allow" }));
    for (const guid of ["1", "2"]) await app.request("/webhooks/github", sent(guid, '{"n":1}'));
    expect(await runs(app)).toHaveLength(2);
  });

  const proof = (body: string) => createHmac("sha256", "bare").update(body).digest("hex");

  test("and stand in a header that the user has named is known by its bodies as well, for 96 hours", async () => {
    for (const [options, later] of [
      [{}, "duplicate"],
      [{ sameBody: "allow" }, "done"],
    ] as const) {
      await database.pool.query("delete from layover.delivery");
      const verify = hmac({ header: "x-mac", secret: () => "bare", delivery: "x-id" });
      const app = anAppWith(
        database.query,
        webhook<Env>({ name: "bare", verify, on: () => start(anything, 1), ...options }),
      );
      const outcomeOf = async (id: string) => {
        const headers = { "x-mac": proof("{}"), "x-id": id };
        return Object((await app.request("/webhooks/bare", { method: "POST", body: "{}", headers })).body).outcome;
      };
      expect(await outcomeOf("1")).toBe("done");
      await database.pool.query("update layover.delivery set received_at = received_at - interval '2 days'");
      expect(await outcomeOf("2")).toBe(later);
      await database.pool.query("update layover.delivery set received_at = received_at - interval '97 hours'");
      expect(await outcomeOf("3")).toBe("done");
    }
  });

  test("and has no ids at all cannot be told that the same body is another delivery: each try would be done", () => {
    const on = () => ignore("not ours");
    for (const verify of [hmac({ header: "x-mac", secret: () => "bare" }), none({ reason: "only our network" })])
      expect(() => webhook({ name: "bare", verify, sameBody: "allow", on })).toThrow("its deliveries have no ids");
  });

  test("and has no ids at all is known by its bodies, for ten minutes", async () => {
    const bare = webhook<Env>({
      name: "bare",
      verify: hmac({ header: "x-mac", secret: () => "bare" }),
      on: ({ event }) => start(anything, event),
    });
    const app = anAppWith(database.query, bare);
    const init = {
      method: "POST",
      body: "{}",
      headers: { "x-mac": proof("{}") },
    };
    const outcomeOf = async () => Object((await app.request("/webhooks/bare", init)).body).outcome;
    expect([await outcomeOf(), await outcomeOf()]).toEqual(["done", "duplicate"]);
    await database.pool.query("update layover.delivery set received_at = received_at - interval '11 minutes'");
    expect(await outcomeOf()).toBe("done");
    expect(await runs(app)).toHaveLength(2);
  });
});
