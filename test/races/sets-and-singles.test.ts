/**
 * What is done as a set comes to what each of it comes to by itself: each test arranges the same twice, finishes the one
 * in one call and the other one by one, and compares all rows.
 */
import { describe, expect, test } from "vitest";
import type { FinishAnswer, FinishBranch, FinishRun } from "../../src/postgres/wire.ts";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aMap,
  aParkedRun,
  aRecord,
  aRun,
  at,
  branches,
  minute,
  noon,
  type Run,
  second,
  soon,
  terms,
} from "./runs.ts";
import { type Row, stageOn } from "./stage.ts";

type Turn = FinishRun | FinishBranch;
type Finish = Omit<Parameters<Run["toFinish"]>[0], "token">;

describeSomePostgres(
  "a set comes to what each comes to by itself",
  (database) => {
    const stage = stageOn(database);
    const finishTurns = async (turns: readonly Turn[]) =>
      (await stage.onlooker.call("finish_turns", { ...terms, turns })).turns;
    const oneByOne = async (turns: readonly Turn[]) => {
      const answers: FinishAnswer[] = [];
      for (const turn of turns) answers.push(...(await finishTurns([turn])));
      return answers;
    };
    /** Everything that there is about a run, but its id. */
    const rowsOf = async ({ id }: Run): Promise<Row | undefined> => {
      const tables = { run_state: "turn", record: "position", pending: "path, b.occurrence", map: "path" };
      const parts = Object.entries(tables).map(
        ([table, order]) =>
          `(select jsonb_agg(to_jsonb(b) - 'run_id' order by b.${order}) from layover.${table} b where b.run_id = $1) as ${table}`,
      );
      return (await stage.look(`select ${parts.join(", ")}`, [id]))[0];
    };
    const same = async (make: () => Promise<{ runs: readonly Run[]; turns: readonly Turn[] }>) => {
      const [together, apart] = [await make(), await make()];
      const answers = await finishTurns(together.turns);
      expect(answers).toEqual(await oneByOne(apart.turns));
      const rows = await Promise.all(together.runs.map(rowsOf));
      expect(rows).toEqual(await Promise.all(apart.runs.map(rowsOf)));
      expect(await finishTurns(together.turns)).toEqual(await oneByOne(apart.turns));
      return { answers, rows };
    };

    describe("of finishes of runs", () => {
      /** Its second turn was taken over from a process that died, and the scheduler has sent for it in vain. */
      const aTriedRun = async () => {
        const run = await aRun(stage);
        await run.claim(stage.onlooker, { token: "first" });
        const error = { ...at("charge"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
        await run.finish(stage.onlooker, { token: "first", next: "ready", attempt: error });
        await run.claim(stage.onlooker, { token: "second", turn: 2 });
        await stage.onlooker.query(
          "update layover.run_state set leased_until = layover.now(), dispatches = 1 where run_id = $1",
          [run.id],
        );
        await run.claim(stage.onlooker, { token: "second again", turn: 2, alone: true });
        await stage.onlooker.query("update layover.run_state set dispatches = 2 where run_id = $1", [run.id]);
        return run;
      };
      const records = [
        aRecord("step", "charge", { at: noon + second, beganAt: noon, attempts: 2, isFailure: true }),
        aRecord("sleep", "nap", { at: noon + 2 * second }),
      ];
      const claim = { token: "third", turn: 3, have: { epoch: 0, position: 2 } };
      const finishes: Readonly<Record<string, Finish>> = {
        "go on": { next: "ready", records, bytes: 7, armed: [soon + minute] },
        "go on, claiming their next turns": { next: "ready", records, bytes: 7, armed: [soon + minute], claim },
        "go on with nothing": { next: "ready" },
        complete: { next: "completed", value: '0"done"', records, bytes: 7 },
        fail: { next: "failed", value: '0"why"', records, bytes: 7 },
        "are cancelled": { next: "cancelled", value: '0"why"' },
      };

      test.each(Object.entries(finishes))("that %s", async (_, finish) => {
        await same(async () => {
          await stage.clock.set(noon);
          const runs = [await aTriedRun(), await aTriedRun()];
          await stage.clock.set(noon + 10 * second);
          const turns = runs.map((run) => run.toFinish({ token: "second again", ...finish }));
          return { runs, turns };
        });
      });
    });

    describe("of results of branches", () => {
      const result = (run: Run, path: string, more: Partial<FinishBranch> = {}): FinishBranch => ({
        ...run.toFinishBranch(path, { token: path }),
        bytes: 7,
        ...more,
      });

      test("in a plain fan-out, armed for several instants", async () => {
        await same(async () => {
          await stage.clock.set(noon);
          const run = await aParkedRun(stage, branches(["a", "b", "c"]));
          await stage.onlooker.query(
            "update layover.run_state set due_at = due_at + interval '1 h' where run_id = $1",
            [run.id],
          );
          for (const path of ["a", "b", "c"]) await run.claimBranch(stage.onlooker, path, { token: path });
          await stage.clock.set(noon + 10 * second);
          const armed = [[soon + 2 * minute], [soon + minute], [soon + 3 * minute]];
          const turns = ["a", "b", "c"].map((path, index) => result(run, path, { armed: armed[index] ?? [] }));
          return { runs: [run], turns };
        });
      });

      test("taken over from processes that died", async () => {
        const { rows } = await same(async () => {
          await stage.clock.set(noon);
          const run = await aParkedRun(stage, branches(["a", "b"]));
          for (const path of ["a", "b"]) await run.claimBranch(stage.onlooker, path, { token: path });
          await stage.clock.set(noon + 2 * minute);
          const again = (path: string) => ({ token: path + path, alone: true });
          for (const path of ["a", "b"]) await run.claimBranch(stage.onlooker, path, again(path));
          return {
            runs: [run],
            turns: ["a", "b"].map((path) => run.toFinishBranch(path, { token: path + path })),
          };
        });
        expect(rows).toMatchObject([{ pending: [{ claims: 0 }, { claims: 0 }] }]);
      });

      const items = ["a", "b", "c", "d", "e"];
      interface Case {
        readonly slots?: number;
        readonly count: number;
        readonly isFailure?: boolean;
        readonly failsFast?: boolean;
      }
      const cases: Readonly<Record<string, Case>> = {
        "the first of a map with slots, which go to those that queue": { slots: 2, count: 2 },
        "the last of a map": { count: 5 },
        "a failure in a map that goes on": { count: 2, isFailure: true },
        "the first failure of a map that fails fast": { count: 2, isFailure: true, failsFast: true },
        "results in a map that fails fast": { count: 2, failsFast: true },
      };
      test.each(Object.entries(cases))(
        "%s",
        async (_, { slots = null, count, isFailure = false, failsFast = false }) => {
          await same(async () => {
            await stage.clock.set(noon);
            const run = await aMap(stage, items, { slots, failsFast });
            await stage.clock.set(noon + 10 * second);
            const failing = (path: string) => ({ token: path, isFailure: isFailure && path === "b" });
            const turns = items.slice(0, count).map((path) => run.toFinishBranch(path, failing(path)));
            return { runs: [run], turns };
          });
        },
      );

      test("of two maps and of none", async () => {
        await same(async () => {
          await stage.clock.set(noon);
          const run = await aParkedRun(stage, [
            ...branches(["a"]),
            ...branches(["one/b", "one/e", "one/f"], { path: "one", slots: 1, failsFast: false }),
            ...branches(["two/c", "two/d", "two/g"], { path: "two", slots: 2, failsFast: false }),
          ]);
          const paths = ["a", "one/b", "two/c", "two/d"];
          for (const path of paths) await run.claimBranch(stage.onlooker, path, { token: path });
          await stage.clock.set(noon + 10 * second);
          return { runs: [run], turns: paths.map((path) => result(run, path)) };
        });
      });

      test("of two maps, one of which is through", async () => {
        await same(async () => {
          await stage.clock.set(noon);
          const run = await aParkedRun(stage, [
            ...branches(["one/a", "one/b"], { path: "one", slots: null, failsFast: false }),
            ...branches(["two/c"], { path: "two", slots: null, failsFast: false }),
          ]);
          const paths = ["one/a", "two/c"];
          for (const path of paths) await run.claimBranch(stage.onlooker, path, { token: path });
          return { runs: [run], turns: paths.map((path) => result(run, path)) };
        });
      });

      test("of one map where another of its name, of another run, queues as well", async () => {
        await same(async () => {
          await stage.clock.set(noon);
          const other = await aMap(stage, items, { slots: 2 });
          await other.finishBranch(stage.onlooker, "a", { token: "a" });
          const run = await aMap(stage, items, { slots: 2 });
          return { runs: [run, other], turns: ["a", "b"].map((path) => result(run, path)) };
        });
      });

      test("of a place that comes more than once", async () => {
        await same(async () => {
          await stage.clock.set(noon);
          const demands = [1, 2, 3].map((occurrence) => aDemand("branch", "a", { occurrence, ordinal: occurrence }));
          const run = await aParkedRun(stage, demands);
          const claims = [1, 2, 3].map((occurrence) => ({ ...run.toClaim({ token: "a" }), path: "a", occurrence }));
          await stage.onlooker.call("claim_turns", { ...terms, turns: claims });
          return { runs: [run], turns: [2, 3].map((occurrence) => result(run, "a", { occurrence })) };
        });
      });

      test("of a run that was ready already", async () => {
        await same(async () => {
          await stage.clock.set(noon);
          const run = await aParkedRun(stage, branches(["a", "b", "c"]));
          for (const path of ["a", "b", "c"]) await run.claimBranch(stage.onlooker, path, { token: path });
          await run.finishBranch(stage.onlooker, "a", { token: "a" });
          await stage.clock.set(noon + 10 * second);
          return { runs: [run], turns: ["b", "c"].map((path) => result(run, path)) };
        });
      });
    });
  },
  { perTest: true },
);
