/** The finish of a branch ends its own lease and no other, and continues its run where nobody else is at work: once. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aFanOut, aMap, aParkedRun, minute, noon, type Run, second, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "the finish of",
  (database) => {
    const stage = stageOn(database);
    const look = async (what: string, table: string, { id }: Run, more = "") =>
      await stage.look(`select ${what} from layover.${table} where run_id = $1 ${more}`, [id]);
    const finishTurns = async (...turns: readonly object[]) =>
      (await stage.onlooker.call("finish_turns", { ...terms, turns })).turns;

    describe("a branch", () => {
      const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null" };

      test.each(["record", "attempt"])("counts the bytes of its %s", async (what) => {
        const run = await aFanOut(stage, ["a", "b"]);
        const attempt = what === "attempt" ? { attempt: { ...failed, retryInMs: second } } : {};
        await finishTurns({ ...run.toFinishBranch("a", { token: "a", ...attempt }), bytes: 7 });
        expect(await look("history_bytes", "run_state", run)).toEqual([{ history_bytes: 7 }]);
      });

      describe("whose place comes more than once", () => {
        const token = (occurrence: number) => `a ${occurrence}`;
        const aTwin = async () => {
          const demands = [1, 2].map((occurrence) => aDemand("branch", "a", { occurrence, ordinal: occurrence }));
          const run = await aParkedRun(stage, demands);
          const turns = [1, 2].map((occurrence) => {
            return { ...run.toClaim({ token: token(occurrence) }), path: "a", occurrence };
          });
          await stage.onlooker.call("claim_turns", { ...terms, turns });
          return run;
        };
        const finish = async (run: Run, occurrence: number, more: { readonly blocked?: string } = {}) =>
          (await finishTurns({ ...run.toFinishBranch("a", { token: token(occurrence), ...more }), occurrence }))[0];
        const leased = async (run: Run) =>
          (await look("occurrence", "pending", run, "and token is not null order by occurrence")).map(
            ({ occurrence }) => occurrence,
          );

        test("ends its own lease, and is answered the same when it comes again", async () => {
          const run = await aTwin();
          const answer = await finish(run, 2);
          expect(answer).toMatchObject({ outcome: "finished", turn: 2, continues: 2 });
          expect(await leased(run)).toEqual([1]);
          expect(await finish(run, 2)).toEqual(answer);
          expect(await finish(run, 1)).toMatchObject({ outcome: "finished", continues: null });
          expect(await look("occurrence", "record", run, "order by position")).toEqual([
            { occurrence: 2 },
            { occurrence: 1 },
          ]);
        });

        test("gives up its own lease alone, when it is blocked", async () => {
          const [run, other] = [await aTwin(), await aTwin()];
          await finish(run, 2, { blocked: "why" });
          expect(await leased(run)).toEqual([1]);
          expect(await leased(other)).toEqual([1, 2]);
        });
      });

      test("that failed is accepted, though an attempt of that number was written down when the branch lost a race", async () => {
        const run = await aFanOut(stage, ["race/one", "race/two"]);
        await run.finishBranch(stage.onlooker, "race/one", { token: "race/one" });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        const released = [{ prefix: "race/", position: 1 }];
        await run.finish(stage.onlooker, { token: "second", position: 1, next: "ready", released });
        await stage.clock.advance(2 * minute);
        await run.claim(stage.onlooker, { token: "third", turn: 3 }); // the lease of the loser is over
        expect(await look("path, number", "attempt", run)).toEqual([{ path: "race/two", number: 1 }]);
        const demands = [aDemand("branch", "race/two", { demandedAfter: 1 })]; // new code asks for it once more
        await run.finish(stage.onlooker, { token: "third", position: 1, demands });
        await run.claimBranch(stage.onlooker, "race/two", { token: "again" });
        const attempt = { ...failed, retryInMs: 0 };
        const answer = await run.finishBranch(stage.onlooker, "race/two", { token: "again", attempt });
        expect(answer).toMatchObject({ outcome: "finished", turn: 2 });
        expect(await run.pending()).toMatchObject({ "race/two": { attempts: 1, token: null } });
      });

      test("in a set waits for no branch of another run", async () => {
        const [run, other] = [await aFanOut(stage, ["a", "b"]), await aFanOut(stage, ["a", "b"])];
        await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
        await stage.hold("select from layover.pending where run_id = $1 for update", [other.id]);
        const answers = await finishTurns(...["a", "b"].map((path) => run.toFinishBranch(path, { token: path })));
        expect(answers).toMatchObject([{ outcome: "finished" }, { outcome: "finished" }]);
      });

      describe("of a map, which its run does not wait for while it is tried again much later,", () => {
        /** The run has seen that nobody of the map is at work. */
        const aLateRetry = async (paths = ["all/a"]) => {
          const run = await aMap(stage, paths);
          const attempt = { ...failed, retryInMs: hour };
          const answer = await run.finishBranch(stage.onlooker, "all/a", { token: "all/a", attempt });
          if (paths.length === 1) {
            expect(answer).toMatchObject({ outcome: "finished", continues: 2 });
            await run.claim(stage.onlooker, { token: "second", turn: 2 });
            await run.finish(stage.onlooker, { token: "second" });
          }
          await stage.clock.advance(hour);
          await run.claimBranch(stage.onlooker, "all/a", { token: "again", turn: 2 });
          return run;
        };

        test("continues it with the result", async () => {
          const run = await aLateRetry();
          const answer = await run.finishBranch(stage.onlooker, "all/a", { token: "again", turn: 2 });
          expect(answer).toMatchObject({ outcome: "finished", continues: 3 });
          expect(await run.state()).toMatchObject({ isReady: true });
        });

        test("continues nothing when that fails again", async () => {
          const run = await aLateRetry();
          const attempt = { ...failed, number: 2, retryInMs: hour };
          const answer = await run.finishBranch(stage.onlooker, "all/a", { token: "again", turn: 2, attempt });
          expect(answer).toMatchObject({ outcome: "finished", continues: null });
          expect(await run.state()).toMatchObject({ isReady: false });
        });

        test("continues nothing with the result while others are at work: in a set, too", async () => {
          const run = await aLateRetry(["all/a", "all/b", "all/c"]);
          const results = [
            run.toFinishBranch("all/a", { token: "again", turn: 2 }),
            run.toFinishBranch("all/b", { token: "all/b" }),
          ];
          expect(await finishTurns(...results)).toMatchObject([{ continues: null }, { continues: null }]);
          expect(await run.state()).toMatchObject({ isReady: false, lastPosition: 2 });
          const last = await run.finishBranch(stage.onlooker, "all/c", { token: "all/c" });
          expect(last).toMatchObject({ continues: 2 });
        });
      });
    });
  },
  { perTest: true },
);
