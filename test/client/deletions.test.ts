import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { workflow } from "../../src/core/contract/contract.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOut } from "./a-client.ts";
import { type FacedClient, faces } from "./faces.ts";

const nap = workflow({ name: "nap", version: 1 });

describe.each(faces)("delete, $face", ({ open }) => {
  const database = testDatabase();
  const aRunThatIsOver = async ({ client, calls }: FacedClient, options = {}) => {
    const run = await client.start(nap, undefined, options);
    await carryOut(calls, { runId: run.runId, workflow: "nap" }, { completed: 1 });
    return run;
  };

  it("removes a run that is over, and the same call again is answered the same", async () => {
    const test = open(database.query, [nap]);
    const run = await aRunThatIsOver(test);
    const options = { by: "ada", reason: "to see 👀 & more", callId: randomUUID() };
    for (const more of [options, options, {}])
      expect(await run.delete(more)).toEqual({ runId: run.runId, outcome: "deleted" });
    await expect(run.get()).rejects.toMatchObject({ code: "unknown_run" });
    const { rows } = await database.pool.query("select asked_by, reason from layover.deletion where run_id = $1", [
      run.runId,
    ]);
    expect(rows).toEqual([{ asked_by: "ada", reason: "to see 👀 & more" }]);
  });

  it("says why it does not apply, and keeps who asked with the run", async () => {
    const { client } = open(database.query, [nap]);
    const run = await client.start(nap);
    await expect(client.delete(run.runId, { by: "ada" })).rejects.toMatchObject({
      code: "not_applicable",
      message: `the run ${run.runId} is queued, so it cannot be deleted`,
      hint: "Only a run that is over can be deleted. Cancel or terminate it first.",
      details: { runId: run.runId, runStatus: "queued" },
    });
    expect((await run.history()).operations).toMatchObject([{ verb: "delete", by: "ada", verdict: "not_applicable" }]);
    await expect(client.delete(randomUUID())).rejects.toMatchObject({ code: "unknown_run" });
    await expect(client.delete(run.runId, { callId: "1" })).rejects.toMatchObject({ code: "invalid_request" });
  });

  it("lets a start that comes again start and dispatch nothing", async () => {
    const test = open(database.query, [nap]);
    const options = { id: "n1", runId: v7() };
    const run = await aRunThatIsOver(test, options);
    await run.delete();
    test.dispatches.length = 0;
    const again = await test.client.start(nap, undefined, options);
    expect([again.runId, again.isNew, again.version]).toEqual([run.runId, true, 1]);
    expect(test.dispatches).toEqual([]);
    await expect(again.get()).rejects.toMatchObject({ code: "unknown_run" });
    const next = await test.client.start(nap, undefined, { id: "n1" });
    expect([next.isNew, next.runId === run.runId]).toEqual([true, false]);
  });
});
