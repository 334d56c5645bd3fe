/** The order of the demo, played in the kit: every way in which it ends, and the refund of its customer. */
import { describe, expect, it } from "vitest";
import { order, orderWorkflow } from "../../functions/workflows/order.ts";
import type { Stub } from "../../src/testing.ts";
import { testEngines } from "./engines.ts";
import { input } from "./order-input.ts";

const { anEngine } = testEngines();

/** Answers the CPU time of this process, in milliseconds. A busy machine changes little of it. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

describe("the order of the demo", () => {
  it("is played to its end", async () => {
    const sent: string[] = [];
    const send = ({ path }: { path: string }) => `parcel ${sent.push(path)}`;
    const t = await anEngine({ workflows: [orderWorkflow], stub: { order: { charge: () => "c1", send } } });
    const run = await t.start(order, input);
    await run.untilWaiting("approval");
    await run.signal("address", { street: "1 Main St", city: "Turin" });
    await run.callback("approval").resolve({ ok: true });
    await t.advance("1 hour");
    expect(await run.result()).toEqual({
      charge: "c1",
      parcels: ["parcel 1", "parcel 2"],
      address: { street: "1 Main St", city: "Turin" },
    });
    expect(sent).toEqual(["ship[0]/send", "ship[1]/send"]);
    expect(t.logs.map(({ message }) => message)).toEqual(["charged", "waits for approval: open this page", "shipped"]);
  });

  it("is played three times, and the CPU time of each is printed", async () => {
    const figures: { "ms to open the engine": number; "ms of the order": number }[] = [];
    for (let round = 0; round < 3; round += 1) {
      const beganAt = cpuMs();
      const t = await anEngine({
        workflows: [orderWorkflow],
        stub: { order: { charge: () => "c1", send: () => "p" } },
      });
      const openedAt = cpuMs();
      const run = await t.start(order, input);
      await run.untilWaiting("approval");
      await run.callback("approval").resolve({ ok: true });
      await t.advance("1 hour");
      expect(await run.result()).toMatchObject({ charge: "c1" });
      figures.push({ "ms to open the engine": openedAt - beganAt, "ms of the order": cpuMs() - openedAt });
    }
    console.log("the order of the demo in the kit, CPU time:", figures);
  });

  /** The order, and what is asked of a payment provider: the charges, and the keys of the charges that it gives back. */
  async function anOrder(charge: Stub = ({ idempotencyKey }) => charges.push(idempotencyKey)) {
    charges = [];
    const refunds: unknown[] = [];
    const refund: Stub = ({ undone }) => refunds.push(undone?.original.idempotencyKey);
    const stub = { order: { charge, "[undo]/charge": refund, send: () => "p" } };
    const t = await anEngine({ workflows: [orderWorkflow], stub });
    return { t, run: await t.start(order, input), refunds };
  }
  let charges: string[] = [];

  it("fails when it is not approved, and refunds its customer once", async () => {
    const { run, refunds } = await anOrder();
    await run.untilWaiting("approval");
    await run.callback("approval").resolve({ ok: false });
    await expect(run.result()).rejects.toMatchObject({ status: "failed", cause: { name: "NonRetryableError" } });
    expect(charges).toHaveLength(1);
    expect(refunds).toEqual(charges);
  });

  it("fails when nobody approves for three days, and refunds its customer once", async () => {
    const { t, run, refunds } = await anOrder();
    await t.advance(3 * 86_400_000 - 1);
    expect(await run.status()).toBe("waiting");
    await t.advance(1);
    await expect(run.result()).rejects.toMatchObject({ cause: { name: "TimeoutError" } });
    await expect(run.callback("approval").resolve({ ok: true })).rejects.toMatchObject({ code: "callback_expired" });
    expect(refunds).toEqual(charges);
  });

  it("refunds its customer once when it is cancelled, though its process dies meanwhile", async () => {
    const { t, run, refunds } = await anOrder();
    await run.untilWaiting("approval");
    await run.cancel({ reason: "ordered twice" });
    t.crash();
    await t.advance("10 minutes");
    await expect(run.result()).rejects.toMatchObject({ status: "cancelled" });
    expect(refunds).toEqual(charges);
    expect(await run.get()).toMatchObject({ undos: { owed: 1, done: 1, failed: 0 } });
  });

  it("gives back a charge that failed, since it may have had its effect", async () => {
    let key: string | undefined;
    const { t, run, refunds } = await anOrder(({ idempotencyKey }) => {
      key = idempotencyKey;
      throw new Error("no answer");
    });
    await t.advance("1 hour");
    await expect(run.result()).rejects.toMatchObject({ status: "failed", cause: { name: "StepError" } });
    expect(refunds).toEqual([key]);
  });

  it("keeps the charge when it completes", async () => {
    const { t, run, refunds } = await anOrder(() => "c1");
    await run.untilWaiting("approval");
    await run.callback("approval").resolve({ ok: true });
    await t.advance("1 hour");
    expect(await run.result()).toMatchObject({ charge: "c1" });
    expect(refunds).toEqual([]);
  });
});
