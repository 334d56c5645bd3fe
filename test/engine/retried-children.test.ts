/** A run that another one has started fails, and is retried by itself: its second end is told to nobody. */
import { ChildFailedError, NonRetryableError } from "layover";
import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { child, childrenOf, familiesOn } from "./families.ts";
import { tested } from "./playing.ts";

const database = testDatabase();
const family = familiesOn(database);

/** A parent that has caught the failure of its child, and waits for a signal before it completes. */
async function aParentThatCaught() {
  const state = { isDown: true };
  const failing = child.handler(({ step }) =>
    step.run("part", () => {
      if (state.isDown) throw new NonRetryableError("down");
      return "mended";
    }),
  );
  const world = await family(async ({ step }) => {
    const caught = await step.invoke("it", child, { nr: 1 }).catch((error: unknown) => error);
    const isFailure = caught instanceof ChildFailedError;
    await step.waitForSignal("go");
    return isFailure ? "caught" : caught;
  }, failing);
  const run = await world.start(tested);
  await world.pass("1 hour");
  const childId = (await childrenOf(world))[0]?.runId ?? "";
  expect(await world.get(childId)).toMatchObject({ status: "failed" });
  const parentRows = async () => {
    const rows = "select to_jsonb(s) as row from layover.run_state s where s.run_id = $1";
    return { rows: (await database.pool.query(rows, [run.runId])).rows, history: await world.history(run) };
  };
  /** Retries the child, which completes, and answers the parent's rows before and after. */
  const mendChild = async () => {
    const before = await parentRows();
    state.isDown = false;
    expect(await world.ask((client) => client.retry(childId))).toMatchObject({ outcome: "retried" });
    expect(await world.run({ runId: childId })).toMatchObject({ status: "completed", result: "mended" });
    await world.pass("1 hour");
    return { before, after: await parentRows() };
  };
  return { world, run, mendChild };
}

const heldRecords = ["child", "signal"];

test("a child that is retried while its parent goes on tells it nothing of its second end", async () => {
  const { world, run, mendChild } = await aParentThatCaught();
  const { before, after } = await mendChild();
  expect(after).toEqual(before);
  await world.signal(run, tested, "go", null);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "caught" });
  expect((await world.history(run)).records.map(({ kind }) => kind)).toEqual(heldRecords);
});

test("a child that is retried after its parent has completed leaves its parent as it is", async () => {
  const { world, run, mendChild } = await aParentThatCaught();
  await world.signal(run, tested, "go", null);
  expect(await world.run(run)).toMatchObject({ status: "completed", result: "caught" });
  const { before, after } = await mendChild();
  expect(after).toEqual(before);
  expect(after.history.records.map(({ kind }) => kind)).toEqual(heldRecords);
});
