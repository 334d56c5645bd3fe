/**
 * An invoked run that ends while its parent is cancelled: in both orders, held by locks. Afterwards the engine goes on with the
 * parent. No deployment of the world carries the invoked run, so the test itself carries it out.
 */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { testDatabase } from "../postgres/database.ts";
import { type Session, Stage } from "../races/stage.ts";
import { recordsOf } from "./cancelling.ts";
import { child, childrenOf } from "./families.ts";
import { tested, worldOf } from "./playing.ts";

const database = testDatabase();
const stage = new Stage(database);

/** A run that waits for another one, which is at work, and what its undo was told. */
async function aFamily() {
  const told: unknown[] = [];
  const compensate = (result: unknown, { outcome }: { readonly outcome: string }) => void told.push([result, outcome]);
  const world = await worldOf(database, async ({ step }) => {
    await step.invoke("it", child, { nr: 1 }, { compensate });
  });
  const run = await world.start(tested);
  await world.settle();
  const [invoked] = await childrenOf(world);
  const runId = z.uuid().parse(invoked?.runId);
  const { namespace } = world;
  const token = randomUUID();
  const terms = { namespace, environment: "default", endpoint: database.query.endpoint, versions: { child: [1] } };
  const claims = { ...terms, leaseMs: 60_000, maxClaims: 5, maxBeginnings: 5, turns: [{ runId, turn: 1, token }] };
  const session = await stage.session("who carries the invoked run");
  expect(await session.call("claim_turns", claims)).toMatchObject({ turns: [{ outcome: "claimed" }] });
  const at = world.now + 60_000;
  await world.platform.arm([{ at, inMs: 60_000 }]);
  const ending = { runId, token, position: 0, next: "completed", value: '0"booked"', armed: [at] };
  const endBy = (by: Session) => by.call("finish_turns", { ...terms, turns: [ending] });
  const cancelBy = (by: Session) =>
    by.call("cancel_run", { namespace, runId: run.runId, callId: randomUUID(), armed: [at] });
  return { world, run, told, endBy, cancelBy };
}

const ends = ({ runId }: { readonly runId: string }) =>
  stage.look("select path, child_status, child_value from layover.pending where run_id = $1", [runId]);

const ended = (status: string) => ({ turns: [{ outcome: "finished", status }] });
const asked = { outcome: "cancelling", turn: 2 };

test("a run that ends before its parent is cancelled is recorded once, ahead of the ending, and its undo is told the result", async () => {
  const { world, run, told, endBy, cancelBy } = await aFamily();
  const answers = await stage.collide<unknown, unknown>({ first: endBy, second: cancelBy });
  expect(answers).toMatchObject([ended("completed"), asked]);
  expect(await ends(run)).toEqual([{ path: "it", child_status: "completed", child_value: '0"booked"' }]);
  expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1, failed: 0 } });
  expect(await recordsOf({ world, run })).toEqual(["closing ", "child it", "ending ", "step [undo]/it"]);
  expect(told).toEqual([["booked", "succeeded"]]);
  expect(await ends(run)).toEqual([]);
  expect(await stage.violations()).toEqual([]);
});

test("a run that would end after its parent is cancelled is asked to end first, and given up where nobody carries it for a day", async () => {
  const { world, run, told, endBy, cancelBy } = await aFamily();
  const answers = await stage.collide<unknown, unknown>({ first: cancelBy, second: endBy });
  expect(answers).toMatchObject([asked, ended("parked")]);
  const [invoked] = await childrenOf(world);
  expect(invoked).toMatchObject({ status: "cancelling" });
  expect(await ends(run)).toEqual([{ path: "it", child_status: null, child_value: null }]);
  expect(await world.run(run)).toMatchObject({ status: "cancelled", undos: { owed: 1, done: 1, failed: 0 } });
  expect(await recordsOf({ world, run })).toEqual(["closing ", "ending ", "step [undo]/it"]);
  expect((await world.history(run)).attempts).toMatchObject([{ path: "it", error: { code: "given_up" } }]);
  expect(told).toEqual([[undefined, "unknown"]]);
  expect(await ends(run)).toEqual([]);
  expect(await stage.violations()).toEqual([]);
});
