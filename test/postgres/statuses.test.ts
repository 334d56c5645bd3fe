/** What people see of a run: one word, derived from its row and from what it waits for, and the same one it is listed under. */
import { expect, test } from "vitest";
import { type Columns, rowsOn } from "../races/rows.ts";
import {
  aDemand,
  aFanOut,
  aParkedRun,
  aRun,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  second,
} from "../races/runs.ts";
import { type Stage, stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

type Make = (stage: Stage) => Promise<Run>;

const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null", retryInMs: second };

function made(make: Make, assignments: string): Make {
  return async (stage) => {
    const run = await make(stage);
    await stage.onlooker.query(`update layover.run_state set ${assignments} where run_id = $1`, [run.id]);
    return run;
  };
}

/** It has a row of another run, with these columns. */
function waitingFor(columns: Columns): Make {
  return async (stage) => {
    const run = await aParkedRun(stage, []);
    await rowsOn(stage).wait(run, "child", { child_run_id: "gen_random_uuid()", ...columns });
    return run;
  };
}

const over = "ended_at = layover.now(), ready_at = null, due_at = null";

const cases: readonly (readonly [seen: string, how: string, make: Make])[] = [
  ["queued", "is ready", aRun],
  ["queued", "has a branch that is ready", (stage) => aParkedRun(stage, branches(["a"]))],
  ["queued", "was run on, and waits for nothing", (stage) => aParkedRun(stage, [])],
  ["running", "is at work", aRunAtWork],
  ["running", "has a branch at work", (stage) => aFanOut(stage, ["a"])],
  [
    "running",
    "has a branch at work, and waits for a signal too",
    async (stage) => {
      const run = await aParkedRun(stage, [...branches(["a"]), aWaitFor("address", { ordinal: 2 })]);
      await run.claimBranch(stage.onlooker, "a", { token: "a" });
      return run;
    },
  ],
  [
    "retrying",
    "has a step that failed",
    async (stage) => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", attempt: { ...failed, ...at("charge"), demandedAfter: 0 } });
      return run;
    },
  ],
  [
    "retrying",
    "has a branch that failed",
    async (stage) => {
      const run = await aFanOut(stage, ["a"]);
      await run.finishBranch(stage.onlooker, "a", { token: "a", attempt: failed });
      return run;
    },
  ],
  ["waiting", "waits for a signal", (stage) => aParkedRun(stage, [aWaitFor("address")])],
  [
    "waiting",
    "waits for a signal since a race, and has the result of its loser",
    async (stage) => {
      const run = await aFanOut(stage, ["race/a", "race/b"]);
      await run.finishBranch(stage.onlooker, "race/a", { token: "race/a" });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      const released = [{ prefix: "race/", position: 1 }];
      const demands = [aWaitFor("address", { demandedAfter: 1 })];
      await run.finish(stage.onlooker, { token: "second", position: 1, released, demands });
      await run.finishBranch(stage.onlooker, "race/b", { token: "race/b" });
      return run;
    },
  ],
  ["waiting", "waits for an answer", (stage) => aParkedRun(stage, [aDemand("callback", "approval")])],
  ["waiting", "waits for another run", waitingFor({})],
  ["queued", "waits for the end of one that it has left", waitingFor({ is_released: "true" })],
  ["sleeping", "sleeps", (stage) => aParkedRun(stage, [aDemand("sleep", "nap", { until: noon + minute })])],
  ["sleeping", "is to begin later", (stage) => aRun(stage, { delayMs: minute })],
  ["paused", "was paused", made(aRun, "paused_at = layover.now(), due_at = null")],
  [
    "retrying",
    "was set back",
    async (stage) => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", setback: "it took too long" });
      return run;
    },
  ],
  ["blocked", "does not fit the code", made(aRun, "blocked = 'by other code', due_at = null")],
  ["cancelling", "is to be cancelled", made(aRunAtWork, "cancel_requested_at = layover.now()")],
  ["cancelling", "cleans up", made(aRunAtWork, "cancelled_position = 1, last_position = 1")],
  ["compensating", "waits for its last steps before it is undone", made(aRunAtWork, "is_closing = true")],
  [
    "compensating",
    "is undone",
    made(aRunAtWork, "is_closing = false, last_position = 1, ending_position = 1, undos = 1, cancelled_position = 1"),
  ],
  ["completed", "has a result", made(aRun, `status = 'completed', result = '0null', ${over}`)],
  ["failed", "has failed", made(aRun, `status = 'failed', error = '0null', ${over}`)],
  ["cancelled", "was cancelled", made(aRun, `status = 'cancelled', error = '0null', ${over}`)],
];

describeEachPostgres(
  "a run",
  (database) => {
    const stage = stageOn(database, { breaks: ["positions are dense from 1, and last_position is the last"] });

    test.each(cases)("is seen as %s that %s", async (seen, _, make) => {
      const run = await make(stage);
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ status: seen });
    });

    test("is ready when the first of its branches is tried again, though it waits for a signal until later", async () => {
      const run = await aParkedRun(stage, [
        ...branches(["a", "b"]),
        aWaitFor("address", { ordinal: 3, until: noon + 60 * minute }),
      ]);
      for (const [path, retryInMs] of [
        ["a", 5 * minute],
        ["b", minute],
      ] as const) {
        await run.claimBranch(stage.onlooker, path, { token: path });
        await run.finishBranch(stage.onlooker, path, { token: path, attempt: { ...failed, retryInMs } });
      }
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ readyAt: noon + minute });
    });

    test("is seen as queued from the very instant on at which it or a branch of it is ready", async () => {
      const late = await aRun(stage, { delayMs: minute });
      const tried = await aFanOut(stage, ["a"]);
      await tried.finishBranch(stage.onlooker, "a", { token: "a", attempt: failed });
      const seen = async ({ id }: Run) => await stage.onlooker.call("get_run", { runId: id });
      for (const [run, before, instant] of [
        [tried, "retrying", noon + second],
        [late, "sleeping", noon + minute],
      ] as const) {
        await stage.clock.set(instant - 1);
        expect(await seen(run)).toMatchObject({ status: before });
        await stage.clock.set(instant);
        expect(await seen(run)).toMatchObject({ status: "queued" });
      }
    });

    test("is seen as queued where one of its branches was set back and another one is ready", async () => {
      const run = await aParkedRun(stage, branches(["a", "b"]));
      await stage.onlooker.query(
        `with tried as (update layover.pending set ready_at = layover.now() + interval '1 hour'
                         where run_id = $1 and path = 'a' returning run_id, path, occurrence, ready_at)
         insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until)
           select t.run_id, t.path, t.occurrence, s.turn, 'it took too long', 1, layover.now(), t.ready_at
             from tried t join layover.run_state s on s.run_id = t.run_id`,
        [run.id],
      );
      expect(await stage.onlooker.call("get_run", { runId: run.id })).toMatchObject({ status: "queued" });
    });

    test("is listed under what it is seen as, among runs of all kinds, and under nothing else", async () => {
      const listed = async (status?: string) => {
        const { runs } = await stage.onlooker.call("list_runs", { limit: 100, status });
        return runs.map(({ runId }) => runId).toSorted();
      };
      const runs = new Map<string, string[]>();
      for (const [seen, , make] of cases) runs.set(seen, [...(runs.get(seen) ?? []), (await make(stage)).id]);
      for (const [seen, ids] of runs) expect([seen, await listed(seen)]).toEqual([seen, ids.toSorted()]);
      expect(await listed()).toEqual([...runs.values()].flat().toSorted());
      expect(await listed("lost")).toEqual([]);
    });
  },
  { perTest: true },
);
