/** A process learns of its run's cancel by the renewal of its lease. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRunAtWork, branches, type Run, shielded } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a renewal",
  (database) => {
    const stage = stageOn(database);
    const cancel = (run: Run) => run.operate(stage.onlooker, "cancel", { reason: "ordered twice" });

    test("tells the turn of a run that it is to be cancelled, until that is written", async () => {
      const run = await aRunAtWork(stage);
      expect(await run.renew(stage.onlooker, "first")).toMatchObject({ outcome: "renewed", cancel: null });
      await cancel(run);
      const told = { outcome: "renewed", cancel: { reason: "ordered twice" } };
      for (const _ of [1, 2]) expect(await run.renew(stage.onlooker, "first")).toMatchObject(told);
      await run.finish(stage.onlooker, { token: "first", next: "ready" });
      await run.claim(stage.onlooker, { turn: 2, token: "turn 2" });
      expect(await run.renew(stage.onlooker, "turn 2")).toMatchObject({ outcome: "renewed", cancel: null });
    });

    test("tells of a cancel without a reason", async () => {
      const run = await aRunAtWork(stage);
      await stage.onlooker.call("cancel_run", { runId: run.id });
      expect(await run.renew(stage.onlooker, "first")).toMatchObject({ cancel: { reason: null } });
    });

    test("tells a turn at work whose renewal waits for the cancel's lock", async () => {
      const run = await aRunAtWork(stage);
      const [, told] = await stage.collide({
        first: (session) => run.operate(session, "cancel"),
        second: (session) => run.renew(session, "first"),
      });
      expect(told).toMatchObject({ outcome: "renewed", cancel: { reason: "to see" } });
    });

    test("tells a branch of the flow, and none of a cleanup", async () => {
      const run = await aParkedRun(stage, [...branches(["a"]), ...shielded(branches(["k/a"]))]);
      for (const path of ["a", "k/a"]) await run.claimBranch(stage.onlooker, path, { token: path });
      const renew = (path: string) => run.renew(stage.onlooker, path, { path });
      expect(await renew("a")).toMatchObject({ outcome: "renewed", cancel: null });
      await cancel(run);
      expect(await renew("a")).toMatchObject({ outcome: "renewed", cancel: { reason: "ordered twice" } });
      expect(await renew("k/a")).toMatchObject({ outcome: "renewed", cancel: null });
    });

    test("tells a branch at the latest by the renewal after the one that waited for the cancel's lock", async () => {
      const run = await aFanOut(stage, ["a"]);
      const renew = (session: Session) => run.renew(session, "a", { path: "a" });
      const [, renewed] = await stage.collide({
        first: (session) => run.operate(session, "cancel"),
        second: renew,
      });
      expect(renewed).toMatchObject({ outcome: "renewed" });
      expect(await renew(stage.onlooker)).toMatchObject({ cancel: { reason: "to see" } });
    });
  },
  { perTest: true },
);
