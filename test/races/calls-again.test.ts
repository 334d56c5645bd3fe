/** A call of a person that comes again: its first answer may have been lost, so it is told once more whom to dispatch. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { idOf, startingOn, startMany } from "./invoking.ts";
import { aParkedRun, aRun, aRunAtWork, at, branches, minute, Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a call that comes again",
  (database) => {
    const stage = stageOn(database);
    const callId = randomUUID();
    const cancel = (run: Run) => run.operate(stage.onlooker, "cancel", { callId });
    const set = (run: Run, assignments: string) =>
      stage.look(`update layover.run_state set ${assignments} where run_id = $1`, [run.id]);

    test("is told of a restarted run that nobody has claimed yet, and not of one that somebody has", async () => {
      const run = await aRun(stage);
      await run.operate(stage.onlooker, "terminate");
      const restart = () => stage.onlooker.call("restart_run", { runId: run.id, callId, armed: [soon] });
      const told = await restart();
      expect(told).toMatchObject({ outcome: "restarted", turn: 2 });
      expect(await restart()).toMatchObject({ outcome: "restarted", turn: 2 });
      const turns = [run.toClaim({ token: "second", turn: 2 })];
      await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
      expect(await restart()).not.toHaveProperty("turn");
      await stage.clock.advance(2 * minute); // its lease is over
      expect(await restart()).toMatchObject({ turn: 2 });
    });

    test("is told of a fork that nobody has claimed yet, and not of one that somebody has", async () => {
      const run = await aRun(stage);
      await run.operate(stage.onlooker, "terminate");
      const newRunId = randomUUID();
      await aRun(stage); // another one, which may be claimed as well
      const fork = () => stage.onlooker.call("fork_run", { runId: run.id, newRunId, armed: [soon] });
      const told = { outcome: "forked", runId: newRunId };
      for (const _ of [1, 2]) expect(await fork()).toEqual({ ...told, turn: 1 });
      await stage.clock.advance(minute); // its dispatch is lost: the scheduler looks for it
      expect(await fork()).toEqual({ ...told, turn: 1 });
      const turns = [new Run(stage, newRunId).toClaim({ token: "first" })];
      await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
      expect(await fork()).toEqual(told);
    });

    test.each<readonly [what: string, act: (run: Run) => Promise<unknown>]>([
      ["is over", (run) => run.operate(stage.onlooker, "terminate")],
      ["is paused", (run) => run.operate(stage.onlooker, "pause")],
      ["is blocked", (run) => set(run, "blocked = 'no such step'")],
      ["sleeps", (run) => set(run, "ready_at = layover.now() + interval '1 ms'")],
    ])("is told of no run that %s", async (_, act) => {
      const run = await aRun(stage);
      await run.operate(stage.onlooker, "pause", { callId });
      await run.operate(stage.onlooker, "resume");
      await act(run);
      expect(await run.operate(stage.onlooker, "pause", { callId })).not.toHaveProperty("turn");
    });

    test("is told of a run that is ready from this very instant on", async () => {
      const run = await aRun(stage);
      await run.operate(stage.onlooker, "pause", { callId });
      await run.operate(stage.onlooker, "resume");
      await set(run, "ready_at = layover.now()");
      expect(await run.operate(stage.onlooker, "pause", { callId })).toMatchObject({ turn: 1 });
    });

    test("is told of branches that may be claimed, in their order, but of none while the run is paused or blocked", async () => {
      const run = await aParkedRun(stage, branches(["b", "a", "c"]));
      const again = () => run.operate(stage.onlooker, "resume", { callId });
      await run.operate(stage.onlooker, "pause");
      await again();
      await run.claimBranch(stage.onlooker, "c", { token: "c" });
      expect(await again()).toMatchObject({
        branches: [
          { ...at("b"), turn: 1 },
          { ...at("a"), turn: 1 },
        ],
      });
      await aRun(stage); // Nothing stops this one.
      await set(run, "blocked = 'no such step'");
      expect(await again()).not.toHaveProperty("branches");
      await set(run, "blocked = null");
      await run.operate(stage.onlooker, "pause");
      expect(await again()).not.toHaveProperty("branches");
    });

    describe("is told of runs that may be claimed:", () => {
      const { start, made } = startingOn(stage);
      /** A run that has started others, and waits for them. */
      const aFamily = async (paths: readonly string[]) => {
        const parent = await aRunAtWork(stage);
        await start(
          parent,
          paths.map((path, index) => ({ path, ordinal: index + 1, isBound: true })),
          { next: "parked" },
        );
        return { parent, children: (await made(parent)).map((id) => new Run(stage, String(id))) };
      };

      test("those that it has started", async () => {
        const [one, other] = [await aFamily(["a", "b", "c"]), await aFamily(["a"])];
        await cancel(other.parent);
        const ids = one.children.map(({ id }) => id);
        await cancel(one.parent);
        await one.children[0]?.claim(stage.onlooker, { token: "at work" });
        const others = ids.slice(1).map((runId) => ({ runId, turn: 1 }));
        expect(await cancel(one.parent)).toMatchObject({ outcome: "cancelling", others });
      });

      test("no more than the newest thousand of those that it has started", async () => {
        const parent = await aRunAtWork(stage);
        const ids = Array.from({ length: 1_001 }, (_, index) => idOf(index + 1));
        await startMany(stage, parent, ids);
        await cancel(parent);
        const others = ids.slice(1).map((runId) => ({ runId, turn: 1 }));
        expect(await cancel(parent)).toMatchObject({ outcome: "cancelling", others });
      });

      test("the one that waits for it", async () => {
        const { parent, children } = await aFamily(["a"]);
        const [child] = children;
        if (child === undefined) throw new Error("There is no child.");
        await cancel(child);
        const told = { outcome: "cancelled", runId: child.id, others: [{ runId: parent.id, turn: 2 }] };
        expect(await cancel(child)).toEqual(told);
        await parent.claim(stage.onlooker, { token: "second", turn: 2 });
        expect(await cancel(child)).not.toHaveProperty("others");
      });
    });
  },
  { perTest: true },
);
