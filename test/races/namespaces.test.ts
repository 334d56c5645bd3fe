/** Two apps, or two deployments, share a database: none of them touches what belongs to the other, however alike it is named. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRecord, aRun, aRunAtWork, aStart, at, minute, noon, Run, soon, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "in a database that is shared",
  (database) => {
    const stage = stageOn(database);
    const callOf = async (name: "claim_turns" | "finish_turns", more: object, ...turns: object[]) =>
      (await stage.onlooker.call(name, { ...terms, ...more, turns })).turns;

    describe("a deployment claims nothing", () => {
      test("of another environment, though its address is the same", async () => {
        const run = await aRun(stage);
        const other = { environment: "other" };
        expect(await callOf("claim_turns", other, run.toClaim({ token: "first" }))).toEqual([
          { outcome: "wrong_environment" },
        ]);
      });

      test("at another address, though its name is the same", async () => {
        const run = await aRun(stage);
        const other = { endpoint: "elsewhere" };
        expect(await callOf("claim_turns", other, run.toClaim({ token: "first" }))).toEqual([
          { outcome: "wrong_environment" },
        ]);
      });

      test("of a namespace that another one has, though it has one itself", async () => {
        const run = await aRun(stage);
        const other = { environment: "other" };
        await stage.onlooker.call("adopt_environment", { ...terms, ...other, namespace: "its own" });
        expect(await callOf("claim_turns", other, run.toClaim({ token: "first" }))).toEqual([
          { outcome: "wrong_environment" },
        ]);
      });
    });

    test("a deployment claims in a namespace of its own, and in one that nobody has yet", async () => {
      await aRun(stage);
      const own = { environment: "other", namespace: "its own" };
      await stage.onlooker.call("adopt_environment", { ...terms, ...own });
      for (const namespace of ["its own", "nobody's yet"]) {
        const start = { ...aStart(), namespace };
        await stage.onlooker.call("start_run", start);
        const claim = { runId: start.runId, turn: 1, token: tokenOf("first"), alone: false };
        expect(await callOf("claim_turns", { ...own, namespace }, claim)).toMatchObject([{ outcome: "claimed" }]);
      }
    });

    test("what was adopted at another address is claimed there, and no longer here", async () => {
      const run = await aRun(stage);
      await stage.clock.advance(minute);
      await stage.onlooker.call("adopt_environment", { ...terms, endpoint: "elsewhere" });
      const claim = run.toClaim({ token: "first" });
      expect(await callOf("claim_turns", {}, claim)).toEqual([{ outcome: "wrong_environment" }]);
      expect(await callOf("claim_turns", { endpoint: "elsewhere" }, claim)).toMatchObject([{ outcome: "claimed" }]);
      const rows = await stage.look("select layover.to_ms(adopted_at)::float8 as at from layover.environment");
      expect(rows).toEqual([{ at: noon + minute }]);
    });

    describe("in another namespace", () => {
      const elsewhere = { namespace: "elsewhere" };

      test("a run is not found by the user's id of this one", async () => {
        const start = { workflow: "flow", version: 1, id: "o1", encodedInput: "0null" };
        const one = await stage.onlooker.call("start_run", start as never);
        const other = await stage.onlooker.call("start_run", { ...start, ...elsewhere } as never);
        const signal = { workflow: "flow", id: "o1", name: "address", encodedPayload: "0null" };
        expect(await stage.onlooker.call("send_signal", signal)).toMatchObject({ outcome: "sent", runId: one.runId });
        expect(await stage.onlooker.call("send_signal", { ...signal, ...elsewhere })).toMatchObject({
          outcome: "sent",
          runId: other.runId,
        });
      });

      test.each([
        ["one branch", ["a"], "unknown"],
        ["several branches", ["a", "b"], "unknown"],
      ])("the results of %s are unknown", async (_, paths, outcome) => {
        const run = await aFanOut(stage, paths);
        const turns = paths.map((path) => run.toFinishBranch(path, { token: path }));
        expect(await callOf("finish_turns", elsewhere, ...turns)).toEqual(paths.map(() => ({ outcome })));
        expect(await run.history()).toEqual([]);
      });

      test("a renewal is superseded", async () => {
        const run = await aFanOut(stage, ["a"]);
        const other = await aRunAtWork(stage);
        const turns = [
          { runId: run.id, ...at("a"), token: tokenOf("a") },
          { runId: other.id, token: tokenOf("first") },
        ];
        const call = { ...elsewhere, leaseMs: 5 * minute, turns };
        const superseded = { outcome: "superseded" };
        expect((await stage.onlooker.call("renew_leases", call)).turns).toEqual([superseded, superseded]);
      });

      test("a renewal that comes too late spares nobody's loss", async () => {
        const run = await aFanOut(stage, ["a"]);
        const other = await aRunAtWork(stage);
        await stage.clock.advance(2 * minute);
        await run.claimBranch(stage.onlooker, "a", { token: "next" });
        await other.claim(stage.onlooker, { token: "next" });
        const turns = [
          { runId: run.id, ...at("a"), token: tokenOf("a") },
          { runId: other.id, token: tokenOf("first") },
        ];
        await stage.onlooker.call("renew_leases", { ...elsewhere, leaseMs: minute, turns });
        expect(await run.pending()).toMatchObject({ a: { lost: 1, spared: 0 } });
        expect(await other.state()).toMatchObject({ lost: 1, spared: 0 });
      });

      test("leases stand that are voided in this one", async () => {
        const run = await aFanOut(stage, ["a"]);
        const other = await aRunAtWork(stage);
        await stage.onlooker.call("void_leases", elsewhere);
        expect(await run.pending()).toMatchObject({ a: { leasedUntil: noon + minute } });
        expect(await other.state()).toMatchObject({ leasedUntil: noon + minute });
        await stage.onlooker.call("void_leases", {});
        expect(await run.pending()).toMatchObject({ a: { leasedUntil: noon } });
        expect(await other.state()).toMatchObject({ leasedUntil: noon });
      });

      test("a run is retried, though the namespace default belongs to another database", async () => {
        await stage.onlooker.call("adopt_environment", terms);
        await stage.onlooker.query("update layover.environment set identity = 'another'");
        const run = new Run(stage, randomUUID());
        await stage.onlooker.call("start_run", { ...aStart(run.id), ...elsewhere });
        await callOf("claim_turns", elsewhere, run.toClaim({ token: "first" }));
        const records = [aRecord("step", "a", { isFailure: true })];
        const failure = { at: 1, timeouts: [], lost: [], repeats: [] };
        const end = run.toFinish({ token: "first", records, next: "failed", value: "0{}", failure });
        expect(await callOf("finish_turns", elsewhere, end)).toMatchObject([{ outcome: "finished" }]);
        const retry = { runId: run.id, callId: randomUUID(), armed: [soon] };
        await expect(stage.onlooker.call("retry_run", retry)).rejects.toMatchObject({ code: "LO010" });
        expect(await stage.onlooker.call("retry_run", { ...retry, ...elsewhere })).toMatchObject({
          outcome: "retried",
        });
      });

      test("a run with the same user id is another one", async () => {
        const start = { ...aStart(), id: "o1" };
        const again = { ...aStart(), id: "o1" };
        await stage.onlooker.call("start_run", { ...start, ...elsewhere });
        expect(await stage.onlooker.call("start_run", again)).toMatchObject({ outcome: "started", runId: again.runId });
        expect(await stage.onlooker.call("start_run", { ...again, ...aStart() })).toMatchObject({
          outcome: "exists",
          runId: again.runId,
        });
      });
    });
  },
  { perTest: true },
);
