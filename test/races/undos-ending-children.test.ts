/** The finish that says how a run ends, and the end of a run that it has cancelled and that it waits for: each in both orders. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aRecord, aRunAtWork, aWaitFor, minute, Run, soon } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";
import { anEnd, claimsOn, endsBy } from "./undoing.ts";

const day = 24 * 60 * minute;

describeSomePostgres("the ending of a run, and the end of one that it has cancelled", (database) => {
  const stage = stageOn(database);
  const claim = claimsOn(stage);
  const { value: _, ...late } = aRecord("child", "it");

  /** The parent has waited too long for the child, which was asked to end, and is to clean up. Each has a turn under way. */
  async function aFamily() {
    const parent = await aRunAtWork(stage);
    const start = aChild("it", { isBound: true });
    await parent.finish(stage.onlooker, { token: "first", children: [start], demands: [aWaitFor("go")] });
    const child = new Run(stage, start.runId);
    await child.claim(stage.onlooker, { token: "child" });
    await parent.signal(stage.onlooker, "go");
    await claim(parent, 2);
    const turn = { token: "turn 2", position: 0, next: "ready", records: [late] } as const;
    expect(await parent.finish(stage.onlooker, turn)).toMatchObject({ outcome: "finished", turn: 3 });
    await child.finish(stage.onlooker, { token: "child", next: "ready" });
    expect(await claim(child, 2)).toMatchObject({ outcome: "claimed", position: 1 });
    return { parent, child };
  }
  const says = (parent: Run) => endsBy(parent, { token: "turn 3", position: 1 });
  const over = (child: Run) => (session: Session) =>
    child.finish(session, { token: "turn 2", position: 1, next: "cancelled", value: '0{"message":"cancelled"}' });
  const row = async (run: Run) =>
    (
      await stage.look(
        `select is_closing as closing, ending_position as ending, coalesce(ready_at = 'epoch', false) as ready
           from layover.run_state where run_id = $1`,
        [run.id],
      )
    )[0];
  const waits = async (run: Run) => Object.keys(await run.pending());
  const written = { closing: false, ending: 3, ready: true };
  const kinds = ["child it", "step x", "ending"];
  const cancelled = { outcome: "finished", status: "cancelled" };

  test("it is written at once where that run need not end with its parent, though its deadline is to come", async () => {
    const parent = await aRunAtWork(stage);
    const children = [aChild("it", { until: soon + day })];
    await parent.finish(stage.onlooker, { token: "first", children, demands: [aWaitFor("go")] });
    await parent.signal(stage.onlooker, "go");
    await claim(parent, 2);
    const said = await endsBy(parent, { token: "turn 2" })(stage.onlooker);
    expect(said).toMatchObject({ outcome: "finished", turn: 3, isReady: true });
    expect(await parent.kinds()).toEqual(["step x", "ending"]);
  });

  describe("within a day:", () => {
    test("it is written once that end has come, for which it waited", async () => {
      const { parent, child } = await aFamily();
      await claim(parent, 3);
      const [end, said] = await stage.collide({ first: over(child), second: says(parent) });
      expect([end, said]).toMatchObject([cancelled, { outcome: "finished", turn: 4, isReady: true }]);
      expect([await parent.kinds(), await row(parent), await waits(parent)]).toEqual([kinds, written, []]);
      expect(await claim(parent, 4)).toMatchObject({ outcome: "claimed", position: 3 });
    });

    test("it is refused where that end, for which it waited, is rolled back", async () => {
      const { parent, child } = await aFamily();
      await claim(parent, 3);
      await stage.collide({ first: over(child), second: says(parent), ends: "rollback" });
      expect(await parent.kinds()).toEqual(["child it", "step x"]);
      expect(await row(parent)).toMatchObject({ closing: true, ending: null });
      expect(await over(child)(stage.onlooker)).toMatchObject({ ...cancelled, others: [{ turn: 4 }] });
    });

    test.each(["commit", "rollback"] as const)(
      "it is refused before that end, which waits for it (%s)",
      async (ends) => {
        const { parent, child } = await aFamily();
        await claim(parent, 3);
        const [said, end] = await stage.collide({ first: says(parent), second: over(child), ends });
        expect([said, end]).toMatchObject([{ outcome: "finished", turn: 4 }, cancelled]);
        expect(await waits(parent)).toEqual(["go"]);
        if (ends === "rollback") return expect(await says(parent)(stage.onlooker)).toMatchObject({ turn: 4 });
        expect(end).toMatchObject({ others: [{ runId: parent.id, turn: 4 }] });
        expect(await parent.kinds()).toEqual(["child it", "step x"]);
        expect(await row(parent)).toEqual({ closing: true, ending: null, ready: true });
        expect(await claim(parent, 4)).toMatchObject({ outcome: "claimed", position: 2 });
        const last = { ...anEnd({ token: "turn 4", position: 2 }), records: anEnd().records.slice(1) };
        expect(await parent.finish(stage.onlooker, last)).toMatchObject({ outcome: "finished", turn: 5 });
        expect([await parent.kinds(), await row(parent)]).toEqual([kinds, written]);
      },
    );
  });

  describe("after a day:", () => {
    /** The parent has waited for the child for as long as it may. */
    async function aLateFamily() {
      const family = await aFamily();
      await stage.clock.set(soon + day);
      await claim(family.parent, 3);
      return family;
    }

    test("it is written before that end, which waits for it, and is told to nobody", async () => {
      const { parent, child } = await aLateFamily();
      const [said, end] = await stage.collide({ first: says(parent), second: over(child) });
      expect([said, end]).toMatchObject([{ outcome: "finished", turn: 4, isReady: true }, cancelled]);
      expect("others" in end ? end.others : undefined).toEqual([]);
      expect([await parent.kinds(), await row(parent), await waits(parent)]).toEqual([kinds, written, []]);
    });

    test("it is written once that end has come, for which it waited", async () => {
      const { parent, child } = await aLateFamily();
      await stage.collide({ first: over(child), second: says(parent) });
      expect([await parent.kinds(), await row(parent), await waits(parent)]).toEqual([kinds, written, []]);
    });
  });
});
