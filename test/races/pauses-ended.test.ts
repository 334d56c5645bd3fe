/** The resume of a run: it goes on where it was, its timeout is put off, and whoever has to go on is told. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { pausesOn } from "./pausing.ts";
import { aFanOut, aParkedRun, aRun, aRunAtWork, at, branches, minute, noon, type Run, second, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a pause",
  (database) => {
    const stage = stageOn(database);
    const { pause, resume, timeoutOf } = pausesOn(stage);
    const paths = ["live", "lost", "tried", "later"];
    /** When each branch is ready ("now" where that is over), and until when it is leased. */
    const leasesOf = async (run: Run) => {
      const rows = await stage.look(
        `select path, layover.show_ready_at(ready_at)::float8 as ready, layover.to_ms(leased_until)::float8 as leased
           from layover.pending where run_id = $1`,
        [run.id],
      );
      return Object.fromEntries(rows.map(({ path, ready, leased }) => [String(path), [ready, leased]]));
    };

    describe("that ends", () => {
      test("puts off the run's timeout by as long as it took", async () => {
        const run = await aRun(stage, { timeoutMs: 10 * minute });
        await pause(run);
        await stage.clock.set(noon + 60 * minute);
        expect(await run.claim(stage.onlooker, { token: "first" })).toEqual({ outcome: "paused" });
        expect(await resume(run)).toMatchObject({ outcome: "resumed", turn: 1 });
        expect(await timeoutOf(run)).toBe(noon + 70 * minute);
        expect(await run.claim(stage.onlooker, { token: "first" })).toMatchObject({ outcome: "claimed" });
      });

      test("never brings the timeout nearer, though the clock was set back", async () => {
        const run = await aRun(stage, { timeoutMs: 10 * minute });
        await pause(run);
        await stage.clock.set(noon - 5 * minute);
        await resume(run, { armed: [noon - 4 * minute] });
        expect(await timeoutOf(run)).toBe(noon + 10 * minute);
      });

      test("has the run looked at, at an instant that was armed", async () => {
        const run = await aRun(stage, { delayMs: 60 * minute });
        await pause(run);
        expect(await resume(run)).toMatchObject({ outcome: "resumed", turn: null, branches: null });
        expect(await run.state()).toMatchObject({ dueAt: soon, readyAt: noon + 60 * minute });
      });

      test("tells the branches that may begin at once, and not those that wait or are at work", async () => {
        const map = { path: "all", slots: 3, failsFast: false };
        const run = await aParkedRun(stage, branches(["a", "b", "c", "d"], map));
        await run.claimBranch(stage.onlooker, "a", { token: "a" });
        await pause(run);
        expect(await run.claimBranch(stage.onlooker, "b", { token: "b" })).toEqual({ outcome: "paused" });
        expect(await resume(run)).toMatchObject({
          outcome: "resumed",
          branches: [
            { ...at("b"), turn: 1 },
            { ...at("c"), turn: 1 },
          ],
        });
      });

      test("that comes twice is told the same, and does nothing the second time, not even after another pause", async () => {
        const run = await aRun(stage);
        const callId = randomUUID();
        await pause(run);
        await resume(run, { callId });
        const told = { outcome: "resumed", runId: run.id };
        expect(await resume(run, { callId })).toEqual({ ...told, turn: 1 });
        await pause(run);
        expect(await resume(run, { callId })).toEqual(told);
        expect(await run.claim(stage.onlooker, { token: "first" })).toEqual({ outcome: "paused" });
      });

      test("makes ready from now on what became ready meanwhile or lost its lease, and leaves the rest as it is", async () => {
        const late = await aRun(stage, { delayMs: 2 * minute });
        const [lost, live] = [await aRunAtWork(stage), await aRunAtWork(stage)];
        const [fan, other] = [await aFanOut(stage, paths), await aFanOut(stage, paths)];
        for (const run of [fan, other]) {
          for (const [path, retryInMs] of [
            ["tried", 2 * minute],
            ["later", 10 * minute],
          ] as const) {
            const attempt = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs };
            await run.finishBranch(stage.onlooker, path, { token: path, attempt });
          }
          // As if it had been claimed before the clock was set back.
          await stage.onlooker.query(
            "update layover.pending set ready_at = layover.now() + interval '5 minutes' where run_id = $1 and path = 'lost'",
            [run.id],
          );
        }
        await stage.clock.set(noon + 90 * second);
        await live.renew(stage.onlooker, "first");
        await fan.renew(stage.onlooker, "live", { path: "live" });
        for (const run of [late, lost, live, fan, other]) await pause(run);
        const before = await leasesOf(other);

        await stage.clock.set(noon + 2 * minute);
        const armed = [noon + 3 * minute];
        for (const run of [lost, live]) await resume(run, { armed });
        expect(await resume(late, { armed })).toMatchObject({ turn: 1, branches: null });
        expect(await resume(fan, { armed })).toMatchObject({ turn: null, branches: [at("lost"), at("tried")] });
        await stage.clock.set(noon + 3 * minute);
        expect(await late.state()).toMatchObject({ readyAt: noon + 3 * minute });
        expect(await lost.state()).toMatchObject({ leasedUntil: noon + 2 * minute });
        expect(await live.state()).toMatchObject({ leasedUntil: noon + 150 * second });
        expect(await leasesOf(fan)).toEqual({
          later: [noon + 10 * minute, null],
          live: [noon + 3 * minute, noon + 150 * second],
          lost: [noon + 5 * minute, noon + 2 * minute],
          tried: [noon + 3 * minute, null],
        });
        expect(await leasesOf(other)).toEqual({ ...before, live: [noon + 3 * minute, noon + minute] });
      });

      test("tells the turn whose lease ran out meanwhile", async () => {
        const run = await aRunAtWork(stage);
        await pause(run);
        await stage.clock.set(noon + 2 * minute);
        expect(await resume(run, { armed: [noon + 3 * minute] })).toMatchObject({
          outcome: "resumed",
          turn: 1,
        });
        expect(await run.claim(stage.onlooker, { token: "again" })).toMatchObject({ outcome: "claimed" });
      });

      test("tells the turn of a run whose branch is blocked, and none of its branches", async () => {
        const run = await aFanOut(stage, ["a", "b"]);
        await run.finishBranch(stage.onlooker, "a", { token: "a", blocked: "0no" });
        await pause(run);
        await stage.clock.set(noon + 2 * minute);
        expect(await resume(run, { armed: [noon + 3 * minute] })).toMatchObject({ turn: 2, branches: null });
      });

      test("tells a hundred branches at most", async () => {
        const names = Array.from({ length: 101 }, (_, index) => `b${index}`);
        const run = await aParkedRun(stage, branches(names));
        await pause(run);
        expect(await resume(run)).toMatchObject({ branches: names.slice(0, 100).map(at) });
      });

      test("leaves a run blocked that was blocked, and tells its turn, since new code may have come", async () => {
        const run = await aRunAtWork(stage);
        await run.finish(stage.onlooker, { token: "first", next: "blocked", value: "0no" });
        await pause(run);
        expect(await resume(run, { armed: [noon + minute] })).toMatchObject({
          outcome: "resumed",
          turn: 2,
          branches: null,
        });
        expect(await run.state()).toMatchObject({ blocked: "0no", dueAt: noon + minute });
        expect(await run.claim(stage.onlooker, { turn: 2, token: "second" })).toMatchObject({ outcome: "claimed" });
      });

      test("is refused where there is none", async () => {
        const run = await aRun(stage);
        expect(await resume(run)).toEqual({ outcome: "not_applicable", runId: run.id, status: "queued" });
      });
    });
  },
  { perTest: true },
);
