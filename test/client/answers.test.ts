import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { CallbackRef } from "../../src/core/contract/callback.ts";
import { type Contract, workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { aClient, aHastyHost, carryOut, sealCallback } from "./a-client.ts";
import { type FacedClient, faces } from "./faces.ts";

const order = workflow({
  name: "order",
  version: 1,
  signals: { address: z.object({ city: z.string(), zip: z.string().default("?") }) },
  callbacks: { approval: z.object({ ok: z.boolean() }) },
});
const other = workflow({ name: "other", version: 1, callbacks: { approval: z.object({ ok: z.boolean() }) } });

const contracts: readonly Contract[] = [order, other];

async function aWaitingRun({ client, calls }: FacedClient, until?: number) {
  const run = await client.start(order);
  await carryOut(
    calls,
    { runId: run.runId, workflow: "order" },
    {
      waitsFor: [
        { kind: "signal", path: "address", signal: "address" },
        { kind: "callback", path: "ask/approval", ...(until !== undefined && { until }) },
      ],
    },
  );
  const ref: CallbackRef = {
    runId: run.runId,
    epoch: 0,
    path: "ask/approval",
    occurrence: 0,
    workflow: "order",
    version: 1,
    name: "approval",
  };
  return { run, token: sealCallback(ref).token };
}

describe.each(faces)("signal, $face", ({ open }) => {
  const database = testDatabase();

  it("is kept as the schema makes it, and makes the waiting run's turn ready", async () => {
    const test = open(database.query, contracts);
    const { run } = await aWaitingRun(test);
    test.dispatches.length = 0;
    expect(await run.signal("address", { city: "Bonn" })).toEqual({ runId: run.runId, outcome: "sent" });
    expect(test.dispatches).toEqual([{ turns: [{ runId: run.runId, turn: 2 }], delayMs: 0 }]);
    const claimed = await carryOut(test.calls, { runId: run.runId, workflow: "order", turn: 2 }, { completed: 1 });
    expect(claimed.signals).toMatchObject([{ name: "address", payload: '1{"city":"Bonn","zip":"?"}', isParsed: true }]);
  });

  it("dispatches nothing for a run that does not wait for it", async () => {
    const { client, dispatches } = open(database.query, contracts);
    const run = await client.start(order);
    dispatches.length = 0;
    await run.signal("address", { city: "Bonn" });
    expect(dispatches).toEqual([]);
  });

  it("finds the run by the user's own id", async () => {
    const { client } = open(database.query, contracts);
    const { runId } = await client.start(order, undefined, { id: "o1" });
    expect(await client.signal({ id: "o1" }, "address", { city: "Bonn" }, { contract: order })).toEqual({
      runId,
      outcome: "sent",
    });
    await expect(client.signal({ id: "o9" }, "address", { city: "Bonn" }, { contract: order })).rejects.toMatchObject({
      code: "unknown_run",
    });
  });

  it("is left out where one of that dedupeId was sent, and sent once under one signalId", async () => {
    const { client } = open(database.query, contracts);
    const run = await client.start(order);
    const send = (options: object) => run.signal("address", { city: "Bonn" }, options);
    expect((await send({ dedupeId: "a" })).outcome).toBe("sent");
    expect((await send({ dedupeId: "a" })).outcome).toBe("duplicate");
    const signalId = crypto.randomUUID();
    expect((await send({ signalId })).outcome).toBe("sent");
    expect((await send({ signalId })).outcome).toBe("sent");
    const { rows } = await database.pool.query("select count(*)::int as n from layover.signal where run_id = $1", [
      run.runId,
    ]);
    expect(rows).toEqual([{ n: 2 }]);
  });

  it("is answered the same when it is sent again after the end of the run", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order);
    const signalId = crypto.randomUUID();
    const send = async (options: object) => (await run.signal("address", { city: "Bonn" }, options)).outcome;
    await send({ dedupeId: "a", signalId });
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { completed: 1 });
    expect(await send({ dedupeId: "a", signalId })).toBe("sent");
    expect(await send({ dedupeId: "a" })).toBe("duplicate");
    await expect(send({ dedupeId: "b" })).rejects.toMatchObject({ code: "run_over" });
  });

  it("is checked at the door", async () => {
    const { client } = open(database.query, contracts);
    const run = await client.start(order);
    const untyped = (name: string, payload: unknown, options = {}) =>
      client.signal(run.runId, name as "address", payload as { city: string }, { ...options, contract: order });
    await expect(untyped("address", { city: 1 })).rejects.toMatchObject({ code: "invalid_payload" });
    await expect(untyped("adress", {})).rejects.toMatchObject({
      code: "unknown_signal",
      message: 'workflow "order" has no signal "adress"',
      hint: 'Its signals are "address".',
    });
    await expect(untyped("constructor", {})).rejects.toMatchObject({ code: "unknown_signal" });
    await expect(untyped("address", { city: "Bonn" }, { dedupeId: "\u0000" })).rejects.toMatchObject({
      code: "invalid_name",
    });
    await expect(untyped("address", { city: "Bonn" }, { signalId: "1" })).rejects.toMatchObject({
      code: "invalid_request",
    });
    await expect(untyped("address", { city: "x".repeat(2 ** 20) })).rejects.toMatchObject({ code: "value_too_large" });
  });

  it("is refused by a run that is over, and by one of another workflow", async () => {
    const { client, calls } = open(database.query, contracts);
    const run = await client.start(order);
    await carryOut(calls, { runId: run.runId, workflow: "order" }, { completed: 1 });
    await expect(run.signal("address", { city: "Bonn" })).rejects.toMatchObject({ code: "run_over" });
    const { runId } = await client.start(other);
    await expect(client.run(order, runId).signal("address", { city: "Bonn" })).rejects.toMatchObject({
      code: "unknown_run",
    });
  });
});

describe.each(faces)("callbacks, $face", ({ open }) => {
  const database = testDatabase();

  it("are answered once: the same answer again is well, another is a conflict", async () => {
    const test = open(database.query, contracts);
    const { run, token } = await aWaitingRun(test);
    test.dispatches.length = 0;
    expect(await test.client.callback(token)).toEqual({
      workflow: "order",
      version: 1,
      name: "approval",
      status: "open",
      deadline: undefined,
    });
    await test.client.resolveCallback(token, { ok: true }, { contract: order });
    expect(test.dispatches).toEqual([{ turns: [{ runId: run.runId, turn: 2 }], delayMs: 0 }]);
    await test.client.resolveCallback(token, { ok: true }, { contract: order });
    await expect(test.client.resolveCallback(token, { ok: false }, { contract: order })).rejects.toMatchObject({
      code: "callback_conflict",
    });
    await expect(test.client.rejectCallback(token, "no")).rejects.toMatchObject({ code: "callback_conflict" });
    expect((await test.client.callback(token)).status).toBe("resolved");
    expect((await test.client.callback(`https://example.com/layover/callbacks/${token}`)).status).toBe("resolved");
  });

  it("are known as answered before, though the schema makes something new of the same answer", async () => {
    const stamped = workflow({
      name: "order",
      version: 1,
      callbacks: { approval: z.object({ ok: z.boolean(), key: z.uuid().default(() => v7()) }) },
    });
    const test = open(database.query, [stamped]);
    const { token } = await aWaitingRun(test);
    await test.client.resolveCallback(token, { ok: true }, { contract: stamped });
    await test.client.resolveCallback(token, { ok: true }, { contract: stamped });
    await expect(test.client.resolveCallback(token, { ok: false }, { contract: stamped })).rejects.toMatchObject({
      code: "callback_conflict",
    });
  });

  it("are rejected with a reason that the handler meets as an error", async () => {
    const test = open(database.query, contracts);
    const { run, token } = await aWaitingRun(test);
    await test.client.rejectCallback(token, { name: "NotToday", message: "closed", data: { until: 1 } });
    const claimed = await carryOut(test.calls, { runId: run.runId, workflow: "order", turn: 2 }, { completed: 1 });
    expect(claimed.callbacks).toMatchObject([
      {
        outcome: "rejected",
        path: "ask/approval",
        value: '1{"name":"NotToday","message":"closed","data":{"until":1}}',
      },
    ]);
  });

  it("are kept even if the wait is not recorded yet", async () => {
    const { client } = open(database.query, contracts);
    const { runId } = await client.start(order);
    const { token } = sealCallback({
      runId,
      epoch: 0,
      path: "early",
      occurrence: 0,
      workflow: "order",
      version: 1,
      name: "approval",
    });
    await client.resolveCallback(token, { ok: true }, { contract: order });
    expect((await client.callback(token)).status).toBe("resolved");
  });

  it("tell when they are too late, or their run is over or gone", async () => {
    const test = open(database.query, contracts);
    const late = await aWaitingRun(test, Date.now() - 1_000);
    await expect(test.client.resolveCallback(late.token, { ok: true }, { contract: order })).rejects.toMatchObject({
      code: "callback_expired",
    });
    expect(await test.client.callback(late.token)).toMatchObject({ status: "expired", deadline: expect.any(Date) });

    const over = await test.client.start(order);
    await carryOut(test.calls, { runId: over.runId, workflow: "order" }, { completed: 1 });
    const ref = {
      runId: over.runId,
      epoch: 0,
      path: "x",
      occurrence: 0,
      workflow: "order",
      version: 1,
      name: "approval",
    };
    await expect(
      test.client.resolveCallback(sealCallback(ref).token, { ok: true }, { contract: order }),
    ).rejects.toMatchObject({
      code: "callback_expired",
    });
    const { token } = sealCallback({ ...ref, runId: "0190a1b2-0000-7000-8000-000000000000" });
    await expect(test.client.callback(token)).rejects.toMatchObject({ code: "unknown_callback" });
    await expect(test.client.rejectCallback(token, "no")).rejects.toMatchObject({ code: "unknown_callback" });
  });

  it("wake asks for a tick", async () => {
    const { client, wakes } = open(database.query, contracts);
    await client.wake();
    expect(wakes.count).toBe(1);
  });
});

describe("callbacks", () => {
  const database = testDatabase();

  it("send no SQL for a token that is not ours, a value that does not fit, or a contract that is another's", async () => {
    const test = aClient(database.query);
    const { token } = await aWaitingRun(test);
    const sent = test.statements.length;
    const { client } = test;
    await expect(client.callback("forged")).rejects.toMatchObject({ code: "unknown_callback" });
    await expect(client.resolveCallback("forged", { ok: true }, { contract: order })).rejects.toMatchObject({
      code: "unknown_callback",
    });
    await expect(client.rejectCallback("forged", "no")).rejects.toMatchObject({ code: "unknown_callback" });
    const unfit = { ok: "yes" } as unknown as { ok: boolean };
    await expect(client.resolveCallback(token, unfit, { contract: order })).rejects.toMatchObject({
      code: "invalid_payload",
    });
    await expect(client.resolveCallback(token, { ok: true }, { contract: other })).rejects.toMatchObject({
      code: "unknown_callback",
    });
    expect(test.statements.length).toBe(sent);
  });

  it("end by the host's clock, as long as the client does not know the database's time", async () => {
    const endsAt = Date.UTC(2020, 0, 2);
    const place = { runId: v7(), epoch: 0, path: "ask/approval", occurrence: 0 };
    const { token } = sealCallback({ ...place, workflow: "order", version: 1, name: "approval", endsAt });
    const answeredAt = async (now: number) => {
      const { client } = aClient(database.query, { host: { ...aHastyHost(), now: () => now } });
      return await client.rejectCallback(token, "no").catch(({ code }) => code);
    };
    expect(await answeredAt(endsAt - 1)).toBe("unknown_callback");
    expect(await answeredAt(endsAt)).toBe("callback_expired");
  });

  it("need secrets", async () => {
    const { client } = aClient(database.query, { openCallback: undefined });
    await expect(client.rejectCallback("token", "no")).rejects.toMatchObject({ code: "invalid_secret" });
  });
});
