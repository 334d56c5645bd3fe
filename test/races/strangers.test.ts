/**
 * Two runs that are alike in everything but their ids and tokens: what is done to one of them neither waits for the
 * other one, nor changes it.
 */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import {
  aDemand,
  aFanOut,
  aMap,
  aParkedRun,
  aRecord,
  aRunAtWork,
  at,
  aWaitFor,
  branches,
  minute,
  noon,
  type Run,
  second,
  soon,
  terms,
} from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

interface Scene {
  /** Brings a run into the state in which the call finds as much to do as there can be. */
  readonly arrange: (stage: Stage) => Promise<Run>;
  readonly act: (run: Run, session: Session) => Promise<unknown>;
  readonly outcome?: string;
}

const failed = { number: 1, beganAt: noon, endedAt: noon, error: "0null" };
const race = ["all/race[0]", "all/race[1]", "all/race[2]"] as const;
const released = [{ prefix: "all/race[", position: 1 }];

async function makeReady(run: Run, stage: Stage): Promise<void> {
  await stage.onlooker.query("update layover.run_state set ready_at = layover.now() where run_id = $1", [run.id]);
}

/**
 * Makes a run with a race in a map of two slots. The race is won; both losers are queued or at work, and others queue
 * behind them.
 */
async function aRaceInAMap(stage: Stage): Promise<Run> {
  const run = await aMap(stage, [...race, "all/x", "all/y"], { slots: 2 });
  await run.finishBranch(stage.onlooker, race[0], { token: race[0] });
  await makeReady(run, stage);
  await run.claim(stage.onlooker, { token: "second", turn: 2 });
  return run;
}

/** Makes a run to which somebody has sent, and answered, what it waits for. */
async function aRunWithMail(stage: Stage): Promise<Run> {
  const waits = [aWaitFor("address"), aDemand("callback", "approval", { ordinal: 2 })];
  const run = await aParkedRun(stage, [...waits, ...branches(["a"])]);
  await run.signal(stage.onlooker, "address");
  await run.answer(stage.onlooker, "approval");
  return run;
}

async function aDecidedRace(stage: Stage): Promise<Run> {
  const run = await aRaceInAMap(stage);
  await run.claimBranch(stage.onlooker, race[2], { token: race[2] });
  await run.finish(stage.onlooker, { token: "second", position: 1, released });
  await stage.clock.advance(2 * minute);
  await makeReady(run, stage);
  return run;
}

const more = branches(["more/a", "more/b"], { path: "more", slots: 1, failsFast: false });

const scenes: Readonly<Record<string, Scene>> = {
  "the decision of a race": {
    arrange: aRaceInAMap,
    act: (run, session) => run.finish(session, { token: "second", position: 1, released, demands: more }),
    outcome: "finished",
  },
  "the decision of a race that is deferred": {
    arrange: async (stage) => {
      const run = await aRaceInAMap(stage);
      await run.claimBranch(stage.onlooker, race[2], { token: race[2] });
      await run.finishBranch(stage.onlooker, race[2], { token: race[2] });
      return run;
    },
    act: (run, session) => run.finish(session, { token: "second", position: 1, released, demands: more }),
    outcome: "deferred",
  },
  "the claim of a run whose losers are void": {
    arrange: aDecidedRace,
    act: (run, session) => run.claim(session, { token: "third", turn: 3 }),
    outcome: "claimed",
  },
  "the claim of a run and of a branch, whose losers are void": {
    arrange: aDecidedRace,
    act: async (run, session) => {
      const branch = { ...run.toClaim({ token: "x", turn: 1 }), ...at("all/x") };
      const { turns } = await session.call("claim_turns", {
        ...terms,
        turns: [run.toClaim({ token: "third", turn: 3 }), branch],
      });
      return turns[0];
    },
    outcome: "claimed",
  },
  "the claim of a run whose timeout has passed": {
    arrange: async (stage) => {
      const run = await aMapWithATimeout(stage);
      await stage.clock.advance(5 * minute);
      return run;
    },
    act: (run, session) => run.claim(session, { token: "second", turn: 2 }),
    outcome: "claimed",
  },
  "the end of a run": {
    arrange: aRaceInAMap,
    act: (run, session) => run.finish(session, { token: "second", position: 1, next: "completed", value: "0null" }),
    outcome: "finished",
  },
  "a finish that takes what was sent": {
    arrange: async (stage) => {
      const run = await aRunWithMail(stage);
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      return run;
    },
    act: async (run, session) => {
      const [row] = await session.query("select number::integer from layover.signal where run_id = $1", [run.id]);
      const records = [
        aRecord("signal", "address", { signal: Number(row?.["number"]) }),
        aRecord("callback", "approval", { value: "0true" }),
      ];
      const attempt = { ...failed, ...at("charge"), demandedAfter: 2, retryInMs: second };
      return await run.finish(session, { token: "second", records, attempt });
    },
    outcome: "finished",
  },
  "a finish that takes a timeout": {
    arrange: async (stage) => {
      const run = await aParkedRun(stage, [aDemand("callback", "approval", { until: noon })]);
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      return run;
    },
    act: (run, session) => {
      const { value: _, ...record } = aRecord("callback", "approval");
      return run.finish(session, { token: "second", records: [record] });
    },
    outcome: "finished",
  },
  "the end of a map": {
    arrange: async (stage) => {
      const run = await aMap(stage, ["all/a"]);
      await run.finishBranch(stage.onlooker, "all/a", { token: "all/a" });
      await run.claim(stage.onlooker, { token: "second", turn: 2 });
      return run;
    },
    act: (run, session) => run.finish(session, { token: "second", position: 1 }),
    outcome: "finished",
  },
  "the result of a branch": {
    arrange: (stage) => aMap(stage, ["all/a", "all/b", "all/c"], { slots: 1 }),
    act: (run, session) => run.finishBranch(session, "all/a", { token: "all/a" }),
    outcome: "finished",
  },
  "the failure of a branch": {
    arrange: (stage) => aFanOut(stage, ["a"]),
    act: (run, session) => run.finishBranch(session, "a", { token: "a", attempt: { ...failed, retryInMs: second } }),
    outcome: "finished",
  },
  "the results of several branches": {
    arrange: (stage) => aMap(stage, ["all/a", "all/b", "all/c", "all/d", "all/e"], { slots: 2 }),
    act: async (run, session) => {
      const turns = ["all/a", "all/b"].map((path) => run.toFinishBranch(path, { token: path }));
      return (await session.call("finish_turns", { turns })).turns[0];
    },
    outcome: "finished",
  },
  "a signal": {
    arrange: (stage) => aParkedRun(stage, [aWaitFor("address")]),
    act: (run, session) => run.signal(session, "address"),
    outcome: "sent",
  },
  "an answer": {
    arrange: (stage) => aParkedRun(stage, [aDemand("callback", "approval")]),
    act: (run, session) => run.answer(session, "approval"),
    outcome: "answered",
  },
  "a look of the scheduler": {
    arrange: (stage) => aParkedRun(stage, branches(["a", "b"])),
    act: (run, session) => {
      const move = { runId: run.id, seenDueAt: soon, dueAt: soon + minute, isDispatched: true, branches: [at("a")] };
      return session.call("move_due", { moves: [move], soonAt: soon });
    },
  },
};

async function aMapWithATimeout(stage: Stage): Promise<Run> {
  const run = await aRunAtWork(stage, { timeoutMs: 3 * minute });
  await run.finish(stage.onlooker, { token: "first", demands: more });
  return run;
}

const tables = ["run", "run_state", "pending", "map", "record", "attempt", "signal", "callback", "tag"];

describeSomePostgres(
  "another run is as it was, and nobody waits for it:",
  (database) => {
    const stage = stageOn(database, { breaks: ["a signal is taken once, by a record of its kind with its payload"] });
    const keyOf = (table: string) => (table === "run" ? "id" : "run_id");
    const rowsOf = async ({ id }: Run) => {
      const parts = tables.map(
        (table) =>
          `(select json_agg(t order by t::text) from layover.${table} t where ${keyOf(table)} = $1) as ${table}`,
      );
      return (await stage.look(`select ${parts.join(", ")}`, [id]))[0];
    };
    /** Gives the run new tokens, since a token is drawn for one claim. */
    const giveTokensOfItsOwn = async ({ id }: Run) => {
      for (const table of ["run_state", "pending"]) {
        await stage.look(
          `update layover.${table} set token = gen_random_uuid() where run_id = $1 and token is not null`,
          [id],
        );
      }
    };

    test.each(Object.entries(scenes))("%s", async (_, { arrange, act, outcome }) => {
      const other = await arrange(stage);
      await stage.clock.set(noon);
      const run = await arrange(stage);
      await giveTokensOfItsOwn(other);
      const before = await rowsOf(other);
      const [holder, caller] = [await stage.session("holder"), await stage.session("caller")];
      await holder.begin();
      for (const table of tables)
        await holder.query(`select from layover.${table} where ${keyOf(table)} = $1 for update`, [other.id]);
      await caller.query("set lock_timeout = '2s'");
      const answer = await act(run, caller);
      if (outcome !== undefined) expect(answer).toMatchObject({ outcome });
      await holder.commit();
      expect(await rowsOf(other)).toEqual(before);
    });
  },
  { perTest: true },
);
