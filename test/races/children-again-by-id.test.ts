/** A run that was started with an id of its user's own: after a retry its parent asks for it by that id again, and has it. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, failedParentsOn, idOf, startingOn } from "./invoking.ts";
import { repairsOn } from "./next-epochs.ts";
import { aRunAtWork, aStart, type Run } from "./runs.ts";
import { stageOn } from "./stage.ts";

/** The id of a run, and the one that its parent makes when it asks for it again: only the time in it is another one. */
const [before, after] = ["0197a000-0000-7000-8000-00000000000a", "01980000-0000-7000-8000-00000000000a"];
const id = "order 7";

describeSomePostgres(
  "a run with a user's id that its parent asks for again after a retry",
  (database) => {
    const stage = stageOn(database);
    const { made, records, waits, row } = startingOn(stage);
    const { repair, claim } = repairsOn(stage);
    const aFailedParent = failedParentsOn(stage);

    /** The parent has started the run at the place `it`, and has failed since. The first turn after its retry is under way. */
    async function aFamily(verb: "retry" | "restart" = "retry") {
      const { parent, child } = await aFailedParent(childOf(before, "it", { id }));
      await repair(parent, verb);
      await claim(parent, "again");
      return { parent, child };
    }
    const ask = (parent: Run, ...more: readonly ReturnType<typeof childOf>[]) =>
      parent.finish(stage.onlooker, { token: "again", children: [childOf(after, "it", { id }), ...more] });
    const recorded = async (run: Run) => (await records(run)).filter(({ epoch }) => epoch === 1);
    const conflict = (path: string) => ({
      ...{ kind: "start", path, is_failure: true },
      value: expect.stringMatching(/"conflict".*order 7|order 7.*"conflict"/),
    });

    test("is waited for as it stands, and its end is told", async () => {
      const { parent, child } = await aFamily();
      expect(await ask(parent)).toMatchObject({ outcome: "finished", hasStarted: true, isReady: false, others: [] });
      expect([await made(parent), await recorded(parent)]).toEqual([[before], []]);
      expect(await waits(parent)).toMatchObject([{ path: "it", child_run_id: before, child_status: null }]);
      expect(await row(parent, "children")).toEqual({ children: 1 });
      const ended = await child.finish(stage.onlooker, { token: "child", next: "completed", value: "0true" });
      expect(ended).toMatchObject({ others: [{ runId: parent.id }] });
      expect(await waits(parent)).toMatchObject([{ path: "it", child_run_id: before, child_status: "completed" }]);
    });

    test("tells its end at once where it is over", async () => {
      const { parent, child } = await aFamily();
      await child.finish(stage.onlooker, { token: "child", next: "completed", value: "0true" });
      expect(await ask(parent)).toMatchObject({ outcome: "finished", isReady: true });
      expect(await recorded(parent)).toEqual([]);
      expect(await waits(parent)).toMatchObject([{ path: "it", child_run_id: before, child_status: "completed" }]);
    });

    test("is told the same where the finish comes again", async () => {
      const { parent } = await aFamily();
      const told = await ask(parent);
      expect(await ask(parent)).toEqual(told);
      expect([await made(parent), await recorded(parent)]).toEqual([[before], []]);
      expect(await waits(parent)).toHaveLength(1);
    });

    test("is not started at another place of its parent by that id, and is waited for at its own", async () => {
      const { parent } = await aFamily();
      expect(await ask(parent, childOf(idOf(1), "that", { id, ordinal: 2 }))).toMatchObject({ isReady: true });
      expect(await made(parent)).toEqual([before]);
      expect(await recorded(parent)).toMatchObject([conflict("that")]);
      expect(await waits(parent)).toMatchObject([{ path: "it", child_run_id: before }]);
    });

    test("keeps its id from another run that starts one, and from a start", async () => {
      const { parent, child } = await aFamily();
      await ask(parent);
      const other = await aRunAtWork(stage);
      await other.finish(stage.onlooker, { token: "first", children: [childOf(randomUUID(), "it", { id })] });
      expect(await made(other)).toEqual([]);
      expect(await records(other)).toMatchObject([conflict("it")]);
      expect(await stage.onlooker.call("start_run", { ...aStart(), id })).toMatchObject({ runId: child.id });
    });

    test("is another one after a restart, which its id keeps from being started", async () => {
      const { parent } = await aFamily("restart");
      expect(await ask(parent)).toMatchObject({ isReady: true });
      expect([await made(parent), await waits(parent)]).toEqual([[before], []]);
      expect(await recorded(parent)).toMatchObject([conflict("it")]);
    });
  },
  { perTest: true },
);
