/** A run that closes and waits for a run that it has cancelled: the end of that one wakes it, whatever else there is. */
import { expect, test } from "vitest";
import type { NewDemand } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finishBranch } from "./branching.ts";
import { aChild } from "./invoking.ts";
import { aDemand, aRunAtWork, aWaitFor, branches, minute, noon, Run } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { claimsOn } from "./undoing.ts";

describeSomePostgres("a closing run that waits for one that it has cancelled", (database) => {
  const stage = stageOn(database);
  const claim = claimsOn(stage);
  const endsAs = { next: "failed", value: '0{"message":"no"}' } as const;

  /** It waits for a day at most. `b` was at work, its lease has lapsed, and it is renewed now. */
  async function aClosingRun(waits: readonly NewDemand[] = []) {
    const parent = await aRunAtWork(stage);
    const start = aChild("it", { isBound: true, ordinal: 9 });
    const demands = [...branches(["a", "b"]), ...waits];
    await parent.finish(stage.onlooker, { token: "first", demands, children: [start] });
    const child = new Run(stage, start.runId);
    await child.claim(stage.onlooker, { token: "child" });
    for (const path of ["a", "b"]) await parent.claimBranch(stage.onlooker, path, { token: path });
    await finishBranch(parent, "a")(stage.onlooker);
    expect(await claim(parent, 2)).toMatchObject({ outcome: "claimed" });
    const closes = { token: "turn 2", position: 1, next: "ready", closing: true, endsAs } as const;
    expect(await parent.finish(stage.onlooker, closes)).toMatchObject({ outcome: "finished", turn: 3 });
    await stage.clock.advance(2 * minute);
    expect(await claim(parent, 3)).toMatchObject({ outcome: "not_ready", readyAt: noon + 24 * 60 * minute });
    expect(await parent.renew(stage.onlooker, "b", { path: "b" })).toMatchObject({ outcome: "renewed" });
    return { parent, child };
  }
  const end = async (child: Run) => {
    await child.finish(stage.onlooker, { token: "child", next: "ready" });
    expect(await claim(child, 2)).toMatchObject({ outcome: "claimed", position: 1 });
    const ends = { token: "turn 2", position: 1, next: "cancelled", value: '0{"message":"cancelled"}' } as const;
    return await child.finish(stage.onlooker, ends);
  };

  test("and whose branch is renewed late goes on when that branch is recorded", async () => {
    const { parent, child } = await aClosingRun();
    expect(await end(child)).toMatchObject({ status: "cancelled", others: [{ runId: parent.id, turn: 3 }] });
    expect(await claim(parent, 3)).toEqual({ outcome: "not_ready", readyAt: noon + 3 * minute });
    expect(await finishBranch(parent, "b")(stage.onlooker)).toMatchObject({ continues: 3 });
    expect(await claim(parent, 3)).toMatchObject({ outcome: "claimed", endsAs });
  });

  test("and whose branch is renewed late goes on when its lease has lapsed again", async () => {
    const { parent, child } = await aClosingRun();
    await end(child);
    await stage.clock.advance(2 * minute);
    expect(await claim(parent, 3)).toMatchObject({ outcome: "claimed", endsAs });
  });

  const signal = (name: string) => (run: Run) => run.signal(stage.onlooker, name);
  const answer = (run: Run) => run.answer(stage.onlooker, "approval");
  test.each([
    ["a signal that it had waited for", [signal("go")]],
    ["the answer to a callback that it had waited for", [answer]],
    ["a signal after such an answer", [answer, signal("other")]],
  ])("is not made ready by %s", async (_, calls) => {
    const approval = aDemand("callback", "approval", { ordinal: 4 });
    const { parent } = await aClosingRun([aWaitFor("go", { ordinal: 3 }), approval]);
    const before = await parent.state();
    for (const call of calls) expect(await call(parent)).toMatchObject({ turn: null });
    expect(await parent.state()).toEqual(before);
  });

  test("goes on at the end of that one, though another one that need not end with it may take until tomorrow", async () => {
    const parent = await aRunAtWork(stage);
    const more = { ordinal: 9, until: noon + 24 * 60 * minute };
    const starts = [aChild("it", { isBound: true, ordinal: 8 }), aChild("other", more)];
    await parent.finish(stage.onlooker, { token: "first", demands: branches(["a"]), children: starts });
    const child = new Run(stage, starts[0]?.runId ?? "");
    await child.claim(stage.onlooker, { token: "child" });
    await parent.claimBranch(stage.onlooker, "a", { token: "a" });
    await finishBranch(parent, "a")(stage.onlooker);
    await claim(parent, 2);
    await parent.finish(stage.onlooker, { token: "turn 2", position: 1, next: "ready", closing: true, endsAs });
    expect(await claim(parent, 3)).toMatchObject({ outcome: "not_ready" });
    expect(await end(child)).toMatchObject({ status: "cancelled", others: [{ runId: parent.id, turn: 3 }] });
    expect(await claim(parent, 3)).toMatchObject({ outcome: "claimed", endsAs });
  });
});
