/** A branch that was begun: it counts as begun, whatever came of that claim, until the run that waits for it has ended. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { record as finish } from "./branching.ts";
import { aFanOut, aParkedRun, at, branches, minute, noon, type Run, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { claimsOn, closesBy } from "./undoing.ts";

describeSomePostgres(
  "a branch that was begun",
  (database) => {
    const stage = stageOn(database);
    const claim = claimsOn(stage);
    const now = () => stage.onlooker;
    const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: 0 };
    const claimAgain = (run: Run, turn: number) => run.claimBranch(now(), "b", { token: "again", turn });

    const fates: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
      "its lease lapsed": () => stage.clock.advance(minute),
      "its lease was given back": (run) =>
        now().call("return_leases", { turns: [{ runId: run.id, token: tokenOf("b"), ...at("b") }] }),
      "its lease lapsed, and that of the next claim was given back": async (run) => {
        await stage.clock.advance(minute);
        await claimAgain(run, 1);
        await now().call("return_leases", { turns: [{ runId: run.id, token: tokenOf("again"), ...at("b") }] });
      },
      "its process voided all leases": () => now().call("void_leases", terms),
      "it was held up": (run) => run.finishBranch(now(), "b", { token: "b", setback: "slow" }),
      "the code did not fit": async (run) => {
        await run.finishBranch(now(), "b", { token: "b", blocked: "no such step" });
        await now().query("update layover.run_state set blocked = null, due_at = layover.now() where run_id = $1", [
          run.id,
        ]);
      },
      "its attempt failed": (run) => run.finishBranch(now(), "b", { token: "b", attempt: failed }),
      "its attempt failed, and the next one was given back": async (run) => {
        await run.finishBranch(now(), "b", { token: "b", attempt: failed });
        await claimAgain(run, 2);
        await now().call("return_leases", { turns: [{ runId: run.id, token: tokenOf("again"), ...at("b") }] });
      },
    };

    /** Its second turn is under way. `b` was claimed, and `c` never was. */
    async function aRunWith(fate: (run: Run) => Promise<unknown>) {
      const run = await aParkedRun(stage, branches(["a", "b", "c"]));
      for (const path of ["a", "b"]) await run.claimBranch(now(), path, { token: path });
      await finish(run, "a")(now());
      await fate(run);
      await claim(run, 2);
      return run;
    }

    describe("may have had its effect when the handler has thrown, though", () => {
      test.each(Object.entries(fates))("%s", async (_, fate) => {
        const run = await aRunWith(fate);
        await closesBy(run, { token: "turn 2", position: 1, at: noon + minute })(now());
        expect(await claim(run, 3)).toMatchObject({
          outcome: "claimed",
          attempted: [expect.objectContaining(at("b"))],
        });
      });
    });

    describe("may have had its effect when the run is cancelled, though", () => {
      test.each(Object.entries(fates))("%s", async (_, fate) => {
        const run = await aRunWith(fate);
        await run.operate(now(), "cancel");
        await run.finish(now(), { token: "turn 2", position: 1, next: "ready" });
        await claim(run, 3);
        expect(await run.kinds()).toEqual(["step a", "closing"]);
        await closesBy(run, { token: "turn 3", position: 2, at: noon + minute })(now());
        expect(await claim(run, 4)).toMatchObject({
          outcome: "claimed",
          attempted: [expect.objectContaining(at("b"))],
        });
      });
    });

    test("leaves an attempt that says so when the lease of its run is voided without a finish", async () => {
      const run = await aFanOut(stage, ["a", "b"]);
      await finish(run, "a")(now());
      await now().call("void_leases", terms);
      await claim(run, 2);
      await closesBy(run, { token: "turn 2", position: 1 })(now());
      await claim(run, 3);
      expect(await stage.look("select path, number, error::text from layover.attempt")).toEqual([
        { path: "b", number: 1, error: expect.stringContaining("interrupted") },
      ]);
    });
  },
  { perTest: true },
);
