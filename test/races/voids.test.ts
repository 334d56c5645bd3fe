/** Leases that are renewed together, or voided together: each by itself, in its own namespace, and in the one order of locks. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aParkedRun, aRunAtWork, at, aWaitFor, branches, minute, noon, type Run, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "leases",
  (database) => {
    const stage = stageOn(database);
    const elsewhere = { namespace: "elsewhere" };
    const move = (run: Run) =>
      stage.look("update layover.run_state set namespace = 'elsewhere' where run_id = $1", [run.id]);

    test("are renewed for those who hold them, and for nobody behind them in the same call", async () => {
      const runs = [await aRunAtWork(stage), await aRunAtWork(stage), await aFanOut(stage, ["a", "b"])] as const;
      const [one, other, branching] = runs;
      const turns = [
        { runId: one.id, token: tokenOf("first") },
        { runId: one.id, token: tokenOf("another one") },
        { runId: other.id, token: tokenOf("another one") },
        { runId: other.id, token: tokenOf("first") },
        { runId: branching.id, ...at("a"), token: tokenOf("a") },
        { runId: branching.id, ...at("b"), token: tokenOf("another one") },
      ];
      const { turns: answers } = await stage.onlooker.call("renew_leases", { leaseMs: 5 * minute, turns });
      const [renewed, superseded] = ["renewed", "superseded"];
      expect(answers.map(({ outcome }) => outcome)).toEqual([
        renewed,
        superseded,
        superseded,
        renewed,
        renewed,
        superseded,
      ]);
      const leasedUntil = noon + 5 * minute;
      expect(await branching.pending()).toMatchObject({ a: { leasedUntil }, b: { leasedUntil: noon + minute } });
    });

    test("of branches are renewed in their own namespace, though the other one has runs too", async () => {
      const run = await aFanOut(stage, ["a"]);
      await move(await aRunAtWork(stage));
      const call = { ...elsewhere, leaseMs: 5 * minute, turns: [{ runId: run.id, ...at("a"), token: tokenOf("a") }] };
      expect((await stage.onlooker.call("renew_leases", call)).turns).toEqual([{ outcome: "superseded" }]);
    });

    describe("are voided", () => {
      test("where there are some, beside what nobody claimed and what nobody can", async () => {
        const run = await aParkedRun(stage, [...branches(["a", "b"]), aWaitFor("address", { ordinal: 3 })]);
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        await stage.onlooker.call("void_leases", {});
        const none = { leasedUntil: null };
        expect(await run.pending()).toMatchObject({ a: { leasedUntil: noon }, b: none, address: none });
      });

      test("in their own namespace, though the other one has some too", async () => {
        const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const [branching, otherBranching] = [await aFanOut(stage, ["a"]), await aFanOut(stage, ["a"])];
        for (const each of [other, otherBranching]) await move(each);
        await stage.onlooker.call("void_leases", {});
        expect([await run.state(), await other.state()]).toMatchObject([
          { leasedUntil: noon },
          { leasedUntil: noon + minute },
        ]);
        expect([await branching.pending(), await otherBranching.pending()]).toMatchObject([
          { a: { leasedUntil: noon } },
          { a: { leasedUntil: noon + minute } },
        ]);
      });

      test("and those that were over stay as they are", async () => {
        const [run, branching] = [await aRunAtWork(stage), await aFanOut(stage, ["a", "b"])];
        await stage.clock.advance(2 * minute);
        await branching.renew(stage.onlooker, "b", { path: "b" });
        await aRunAtWork(stage);
        await stage.onlooker.call("void_leases", {});
        expect(await run.state()).toMatchObject({ leasedUntil: noon + minute });
        const pending = { a: { leasedUntil: noon + minute }, b: { leasedUntil: noon + 2 * minute } };
        expect(await branching.pending()).toMatchObject(pending);
      });

      test("and their branches may be claimed at once, though the clock was set back to before these were ready", async () => {
        const run = await aFanOut(stage, ["a"]);
        const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: minute };
        await run.finishBranch(stage.onlooker, "a", { token: "a", attempt });
        await stage.clock.set(noon + minute);
        await run.claimBranch(stage.onlooker, "a", { token: "again", turn: 2 });
        await stage.clock.set(noon);
        await stage.onlooker.call("void_leases", {});
        const claimed = await run.claimBranch(stage.onlooker, "a", { token: "next", turn: 2, alone: true });
        expect(claimed).toMatchObject({ outcome: "claimed", turn: 2, attempts: 1 });
      });

      test("by path within a run, whatever the order of the rows", async () => {
        await aFanOut(stage, ["b", "a"]);
        await stage.onlooker.query("update layover.pending set turn = turn where path = 'a'"); // behind the other one
        let free: readonly unknown[] = [];
        await stage.collide({
          first: (session) => session.query("select from layover.pending where path = 'a' for update"),
          second: async (session) => {
            for (const scan of ["indexscan", "bitmapscan"]) await session.query(`set enable_${scan} = off`);
            return await session.call("void_leases", {});
          },
          meanwhile: async () => {
            free = await stage.look("select from layover.pending where path = 'b' for update skip locked");
          },
        });
        expect(free).toHaveLength(1);
      });
    });
  },
  { perTest: true },
);
