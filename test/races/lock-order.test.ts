/** Locks of a run are taken before those of its pending rows. Whoever only reads or comes late takes none. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Calls, isFreeOn } from "./lock-order.ts";
import { aFanOut, aParkedRun, at, branches, minute, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "locks are taken in one order",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["what is not over, paused or blocked and needs to be looked at has a due instant"],
    });
    const isFree = isFreeOn(stage);

    describe("on the run before its pending rows, also by those who may not need the run:", () => {
      const calls: Calls = {
        "the finish of a branch": async () => {
          const run = await aFanOut(stage, ["a"]);
          return (session) => run.finishBranch(session, "a", { token: "a" });
        },
        "the finishes of two branches in one call": async () => {
          const run = await aFanOut(stage, ["a", "b"]);
          const turns = ["a", "b"].map((path) => run.toFinishBranch(path, { token: path }));
          return (session) => session.call("finish_turns", { ...terms, turns });
        },
        "the lone claim of a branch": async () => {
          const run = await aParkedRun(stage, branches(["a"]));
          return (session) => run.claimBranch(session, "a", { token: "a", alone: true });
        },
        "a tick's move": async () => {
          const run = await aParkedRun(stage, branches(["a"]));
          const move = { runId: run.id, seenDueAt: soon, dueAt: soon + minute, branches: [at("a")] };
          return (session) => session.call("move_due", { moves: [move] });
        },
      };

      test.each(Object.entries(calls))("%s", async (_, arrange) => {
        const call = await arrange();
        let wasFree = false;
        await stage.collide({
          first: (session) => session.query("select from layover.run_state for update"),
          second: call,
          meanwhile: async () => {
            wasFree = await isFree("from layover.pending where path = 'a'");
          },
        });
        expect(wasFree).toBe(true);
      });
    });

    describe("and not taken at all:", () => {
      test("on branches that are recorded, by a claim that comes late", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a" });
        await stage.hold("select from layover.pending where path = 'a' for update");
        const late = await run.claimBranch(stage.onlooker, "a", { token: "late" });
        expect(late).toEqual({ outcome: "superseded" });
      });

      test.each([
        ["all of which are ready", 1, { outcome: "claimed" }],
        ["one of which comes too late", 7, { outcome: "stale", turn: 1 }],
      ])("on the run, by claims of two branches in one call, %s", async (_, turn, answer) => {
        const run = await aParkedRun(stage, branches(["a", "b"]));
        await stage.hold("select from layover.run_state for update");
        const turns = [
          { ...run.toClaim({ token: "a" }), ...at("a") },
          { ...run.toClaim({ token: "b", turn }), ...at("b") },
        ];
        const answers = (await stage.onlooker.call("claim_turns", { ...terms, turns })).turns;
        expect(answers).toMatchObject([{ outcome: "claimed" }, answer]);
      });

      test("by those who only read", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        const holder = await stage.hold("update layover.run_state set turn = turn");
        await holder.query("update layover.pending set turn = turn");
        const { onlooker } = stage;
        expect(await onlooker.call("get_run", { runId: run.id })).toMatchObject({ runId: run.id });
        expect(await onlooker.call("get_history", { runId: run.id })).toMatchObject({ runId: run.id });
        expect(await onlooker.call("list_runs", { limit: 10 })).toHaveProperty("runs.length", 1);
        await stage.clock.set(soon);
        const due = await onlooker.call("list_due", { versions: terms.versions, limit: 10 });
        expect(due).toHaveProperty("runs.length", 1);
      });
    });
  },
  { perTest: true },
);
