import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Contract, workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOut } from "./a-client.ts";
import { faces } from "./faces.ts";

const cart = workflow({
  name: "cart",
  version: 1,
  input: z.object({ customer: z.string(), currency: z.string().default("EUR") }),
  signals: { item: z.object({ sku: z.string(), count: z.number().default(1) }), close: z.undefined() },
});
const bare = workflow({ name: "bare", version: 1, signals: { go: z.undefined() } });
const contracts: readonly Contract[] = [cart, bare];

describe.each(faces)("signalWithStart, $face", ({ open }) => {
  const database = testDatabase({ perTest: true });
  const ada = { id: "c1", input: { customer: "ada" } };

  it("starts the run with the signal, by one statement, and dispatches it", async () => {
    const { client, calls, statements, dispatches } = open(database.query, contracts);
    await client.list();
    const before = statements.length;
    const { run, outcome } = await client.signalWithStart(cart, "item", { sku: "lamp" }, { ...ada, tags: { a: "b" } });
    expect([outcome, run.isNew, run.version, statements.length - before]).toEqual(["sent", true, 1, 1]);
    expect(dispatches).toEqual([{ turns: [{ runId: run.runId, turn: 1 }], delayMs: 0 }]);
    expect(await run.get()).toMatchObject({ id: "c1", input: { customer: "ada", currency: "EUR" }, tags: { a: "b" } });
    const { signals } = await carryOut(calls, { runId: run.runId, workflow: "cart" }, { completed: 1 });
    expect(signals).toMatchObject([{ name: "item", payload: '1{"sku":"lamp","count":1}', isParsed: true }]);
  });

  it("sends the signal to the run that is there, whatever its input, and dispatches the turn that waits for it", async () => {
    const { client, calls, dispatches } = open(database.query, contracts);
    const { runId } = await client.start(cart, { customer: "bob" }, { id: "c1" });
    const waitsFor = [{ kind: "signal" as const, path: "item", signal: "item" }];
    await carryOut(calls, { runId, workflow: "cart" }, { waitsFor });
    dispatches.length = 0;
    const { run, outcome } = await client.signalWithStart(cart, "item", { sku: "lamp" }, ada);
    expect([outcome, run.runId, run.isNew, run.version]).toEqual(["sent", runId, false, undefined]);
    expect(dispatches).toEqual([{ turns: [{ runId, turn: 2 }], delayMs: 0 }]);
    expect(await run.get()).toMatchObject({ input: { customer: "bob" } });
    const same = await client.signalWithStart(cart, "item", { sku: "lamp" }, { id: "c1", input: { customer: "bob" } });
    expect(same.run.version).toBe(1);
  });

  it("does nothing twice: neither by the same call nor by the same dedupeId", async () => {
    const { client } = open(database.query, contracts);
    const call = { ...ada, runId: v7(), signalId: crypto.randomUUID() };
    for (let times = 0; times < 2; times += 1) {
      const { run, outcome } = await client.signalWithStart(cart, "item", { sku: "lamp" }, call);
      expect([run.runId, run.isNew, outcome]).toEqual([call.runId, true, "sent"]);
    }
    const send = async () => await client.signalWithStart(cart, "item", { sku: "desk" }, { ...ada, dedupeId: "desk" });
    expect([(await send()).outcome, (await send()).outcome]).toEqual(["sent", "duplicate"]);
    const { rows } = await database.pool.query("select payload from layover.signal order by number");
    expect(rows).toEqual([{ payload: '1{"sku":"lamp","count":1}' }, { payload: '1{"sku":"desk","count":1}' }]);
  });

  it("is refused by a run that is over", async () => {
    const { client, calls } = open(database.query, contracts);
    const { runId } = await client.start(cart, { customer: "ada" }, { id: "c1" });
    await carryOut(calls, { runId, workflow: "cart" }, { completed: 1 });
    await expect(client.signalWithStart(cart, "item", { sku: "lamp" }, ada)).rejects.toMatchObject({
      code: "run_over",
      details: { runId, runStatus: "completed" },
    });
  });

  it("is refused where its own run id is taken by another run", async () => {
    const { client } = open(database.query, contracts);
    const { runId } = await client.start(bare);
    await expect(client.signalWithStart(cart, "item", { sku: "lamp" }, { ...ada, runId })).rejects.toMatchObject({
      code: "input_conflict",
      message: `the run id ${runId} is taken by a run with another input`,
    });
  });

  it("needs no input where the contract has none, and puts the start off where it is told to", async () => {
    const { client, dispatches } = open(database.query, contracts);
    const { run } = await client.signalWithStart(bare, "go", undefined, { id: "b1", delay: "1 hour" });
    expect(await run.get()).toMatchObject({ status: "sleeping" });
    expect(dispatches).toEqual([]);
  });

  it("checks all at the door, and starts nothing", async () => {
    const { client } = open(database.query, contracts);
    const untyped = (name: string, payload: unknown, options: object) =>
      client.signalWithStart(cart, name as "close", payload as undefined, { ...ada, ...options });
    for (const [name, payload, options, code] of [
      ["item", { sku: 1 }, {}, "invalid_payload"],
      ["itme", { sku: "lamp" }, {}, "unknown_signal"],
      ["item", { sku: "lamp" }, { input: {} }, "invalid_input"],
      ["item", { sku: "lamp" }, { id: undefined }, "invalid_name"],
      ["item", { sku: "lamp" }, { signalId: "1" }, "invalid_request"],
      ["item", { sku: "lamp" }, { dedupeId: "\u0000" }, "invalid_name"],
    ] as const) {
      await expect(untyped(name, payload, options), code).rejects.toMatchObject({ code });
    }
    expect((await client.list()).runs).toEqual([]);
  });
});
