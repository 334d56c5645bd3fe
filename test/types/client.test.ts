/** What the contract's schemas make of the client's verbs, without an annotation anywhere. Checked by `tsc`. */
import * as v from "valibot";
import { describe, expectTypeOf, it } from "vitest";
import * as z from "zod";
import type { HttpClient } from "../../src/client/over-http/http-client.ts";
import type { Client } from "../../src/client/over-postgres/client.ts";
import type { Run } from "../../src/client/run.ts";
import type { ClientVerbs } from "../../src/client/verbs.ts";
import { workflow } from "../../src/core/contract/contract.ts";

const zodOrder = workflow({
  name: "order",
  version: 1,
  input: z.object({ id: z.string(), at: z.coerce.date().optional(), items: z.array(z.string()).default([]) }),
  output: z.object({ charge: z.string(), paidAt: z.date() }),
  signals: { address: z.object({ city: z.string(), zip: z.string().default("") }), stop: z.undefined() },
  callbacks: { approval: z.object({ ok: z.boolean() }), rating: z.number() },
});
const valibotOrder = workflow({
  name: "order",
  version: 1,
  input: v.object({ id: v.string(), amount: v.optional(v.number(), 1) }),
  output: v.pipe(v.string(), v.transform(Number)),
  signals: { address: v.object({ city: v.string() }) },
});
const bare = workflow({ name: "bare", version: 1 });
const going = workflow({ name: "going", version: 1, signals: { go: z.undefined() } });
const optional = workflow({ name: "optional", version: 1, input: z.string().optional() });

declare const client: Client;
declare const remote: HttpClient;
declare const transaction: Parameters<Client["startIn"]>[0];
declare const zodRun: Run<typeof zodOrder>;
declare const valibotRun: Run<typeof valibotOrder>;
declare const bareRun: Run<typeof bare>;

/** Never called: only its types are looked at. */
const types = (_: () => unknown) => {};

describe("start", () => {
  it("takes what the input schema takes, and answers a run of the contract", () => {
    types(async () => {
      expectTypeOf(await client.start(zodOrder, { id: "o1" })).toEqualTypeOf<Run<typeof zodOrder>>();
      await client.start(zodOrder, { id: "o1", items: ["a"], at: "2026-01-01" }, { id: "o1", delay: "1 hour" });
      await client.start(valibotOrder, { id: "o1" });
      expectTypeOf(await client.startIn(transaction, valibotOrder, { id: "o1", amount: 2 })).toEqualTypeOf<
        Run<typeof valibotOrder>
      >();
      // @ts-expect-error: an input of this contract has an id
      await client.start(zodOrder, {});
      // @ts-expect-error: the input is not optional
      await client.start(zodOrder);
      // @ts-expect-error: an amount is a number
      await client.start(valibotOrder, { id: "o1", amount: "2" });
      // @ts-expect-error: a duration has a unit
      await client.start(zodOrder, { id: "o1" }, { delay: "soon" });
      // @ts-expect-error: tags are texts
      await client.start(zodOrder, { id: "o1" }, { tags: { n: 1 } });
    });
  });

  it("takes no input where the contract has none, or has an optional one", () => {
    types(async () => {
      expectTypeOf(await client.start(bare)).toEqualTypeOf<Run<typeof bare>>();
      await client.start(bare, undefined, { id: "b1" });
      await client.start(optional);
      await client.start(optional, "text");
      // @ts-expect-error: this contract has no input
      await client.start(bare, { id: "o1" });
      // @ts-expect-error: a text
      await client.start(optional, 1);
    });
  });
});

describe("result", () => {
  it("is the output schema's output", () => {
    types(async () => {
      expectTypeOf(await zodRun.result()).toEqualTypeOf<{ charge: string; paidAt: Date }>();
      expectTypeOf(await valibotRun.result({ wait: "30s" })).toEqualTypeOf<number>();
      expectTypeOf(await bareRun.result()).toEqualTypeOf<unknown>();
      expectTypeOf(await client.run(valibotOrder, "id").result()).toEqualTypeOf<number>();
      expectTypeOf(await (await client.runById(zodOrder, "o1")).result()).toEqualTypeOf<{
        charge: string;
        paidAt: Date;
      }>();
    });
  });
});

describe("signal", () => {
  it("takes the contract's names, and what each schema takes", () => {
    types(async () => {
      await zodRun.signal("address", { city: "Bonn" });
      await zodRun.signal("stop", undefined, { dedupeId: "once" });
      await valibotRun.signal("address", { city: "Bonn" });
      await client.signal({ id: "o1" }, "address", { city: "Bonn" }, { contract: valibotOrder });
      await zodRun.retry({ signal: { name: "address", payload: { city: "Bonn" } }, contract: zodOrder });
      // @ts-expect-error: the payload is an address
      await zodRun.retry({ signal: { name: "address", payload: "Bonn" }, contract: zodOrder });
      // @ts-expect-error: no such signal
      await zodRun.signal("adress", { city: "Bonn" });
      // @ts-expect-error: a city is a text
      await zodRun.signal("address", { city: 1 });
      // @ts-expect-error: this contract has no signals
      await bareRun.signal("address", {});
      // @ts-expect-error: a city is a text
      await client.signal("run id", "address", { city: 1 }, { contract: valibotOrder });
    });
  });
});

describe("signalWithStart", () => {
  it("takes the contract's input, its names of signals, and what each schema takes", () => {
    types(async () => {
      const options = { id: "o1", input: { id: "o1" } };
      const { run, outcome } = await client.signalWithStart(zodOrder, "address", { city: "Bonn" }, options);
      expectTypeOf(run).toEqualTypeOf<Run<typeof zodOrder>>();
      expectTypeOf(outcome).toEqualTypeOf<"sent" | "duplicate">();
      await client.signalWithStart(zodOrder, "stop", undefined, { ...options, dedupeId: "once", delay: "1 hour" });
      await client.signalWithStart(going, "go", undefined, { id: "g1" });
      // @ts-expect-error: an input of this contract has an id
      await client.signalWithStart(zodOrder, "stop", undefined, { id: "o1", input: {} });
      // @ts-expect-error: the input is not optional
      await client.signalWithStart(zodOrder, "stop", undefined, { id: "o1" });
      // @ts-expect-error: the run has an id of the user's own
      await client.signalWithStart(zodOrder, "stop", undefined, { input: { id: "o1" } });
      // @ts-expect-error: a city is a text
      await client.signalWithStart(zodOrder, "address", { city: 1 }, options);
      // @ts-expect-error: no such signal
      await client.signalWithStart(zodOrder, "adress", { city: "Bonn" }, options);
      // @ts-expect-error: this contract has no input
      await client.signalWithStart(going, "go", undefined, { id: "g1", input: 1 });
    });
  });
});

describe("resolveCallback", () => {
  it("takes what one of the contract's callbacks takes", () => {
    types(async () => {
      await client.resolveCallback("token", { ok: true }, { contract: zodOrder });
      await client.resolveCallback("token", 5, { contract: zodOrder });
      // @ts-expect-error: neither an approval nor a rating
      await client.resolveCallback("token", "yes", { contract: zodOrder });
      // @ts-expect-error: this contract has no callbacks
      await client.resolveCallback("token", 5, { contract: bare });
    });
  });
});

describe("HttpClient", () => {
  it("has the verbs of a client in process, with the same types, but what needs a transaction", () => {
    expectTypeOf<HttpClient>().toExtend<ClientVerbs>();
    expectTypeOf<Client>().toExtend<ClientVerbs>();
    expectTypeOf<HttpClient["start"]>().toEqualTypeOf<Client["start"]>();
    expectTypeOf<HttpClient["signal"]>().toEqualTypeOf<Client["signal"]>();
    expectTypeOf<HttpClient["signalWithStart"]>().toEqualTypeOf<Client["signalWithStart"]>();
    expectTypeOf<HttpClient>().not.toHaveProperty("startIn");
  });

  it("flows from the contract without an annotation", () => {
    types(async () => {
      const run = await remote.start(zodOrder, { id: "o1" }, { id: "o1", delay: "1 hour" });
      expectTypeOf(run).toEqualTypeOf<Run<typeof zodOrder>>();
      expectTypeOf(await run.result()).toEqualTypeOf<{ charge: string; paidAt: Date }>();
      expectTypeOf(await (await remote.runById(valibotOrder, "o1")).result()).toEqualTypeOf<number>();
      expectTypeOf((await run.history({ after: 100 })).next).toEqualTypeOf<number | undefined>();
      await run.signal("address", { city: "Bonn" });
      await remote.signal({ id: "o1" }, "stop", undefined, { contract: zodOrder });
      await remote.resolveCallback("https://example.com/callbacks/a.b", 5, { contract: zodOrder });
      // @ts-expect-error: an input of this contract has an id
      await remote.start(zodOrder, {});
      // @ts-expect-error: this contract has no input
      await remote.start(bare, { id: "o1" });
      // @ts-expect-error: a city is a text
      await run.signal("address", { city: 1 });
      // @ts-expect-error: neither an approval nor a rating
      await remote.resolveCallback("token", "yes", { contract: zodOrder });
    });
  });
});
