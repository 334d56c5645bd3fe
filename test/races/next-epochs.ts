/** Runs that have failed and are repaired, and all rows of a run, which its next epoch takes over or leaves behind. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { aDemand, aRecord, aRunAtWork, at, aWaitFor, minute, noon, type Run, second, soon, terms } from "./runs.ts";
import type { Stage } from "./stage.ts";

const tables = ["record", "pending", "map", "attempt", "signal", "callback", "epoch", "setback", "patch"] as const;

export const iso = (ms: number) => new Date(ms).toISOString().replace(".000Z", "+00:00");

/** What every epoch begins with. */
export const fresh = {
  ...{
    status: "parked",
    token: null,
    leased_until: null,
    claims: 0,
    beginnings: 0,
    lost: 0,
    spared: 0,
    lost_token: null,
  },
  ...{ dispatches: 0, is_interrupted: false, begun: null, has_pending: false, blocked: null, refused_by: null },
  ...{
    cancel_requested_at: null,
    cancel_reason: null,
    cancelled_position: null,
    is_closing: false,
    ends_as: null,
    ending_position: null,
  },
  ...{
    undos: null,
    failed_undos: null,
    ended_at: null,
    result: null,
    error: null,
    failure: null,
    paused_at: null,
    children: 0,
  },
  ...{ finished_answer: null, is_held: false },
};

/** Looks at all rows of a run, by table, and at its own row. */
export function allRowsOn(stage: Stage) {
  async function rows(run: Run): Promise<Readonly<Record<string, unknown>>> {
    const parts = tables.map(
      (table) =>
        `(select coalesce(json_agg(x order by x::text), '[]') from layover.${table} x where x.run_id = $1) as ${table}`,
    );
    const [found] = await stage.look(`select ${parts.join(", ")}`, [run.id]);
    return found ?? {};
  }

  async function state(run: Run): Promise<Readonly<Record<string, unknown>>> {
    const [found] = await stage.look("select to_jsonb(x) as state from layover.run_state x where x.run_id = $1", [
      run.id,
    ]);
    return Object(found?.["state"]);
  }

  return { rows, state };
}

/** Repairs runs, and claims them again. */
export function repairsOn(stage: Stage) {
  const { state } = allRowsOn(stage);
  const repair = (run: Run, verb: "retry" | "restart", more: object = {}) =>
    stage.onlooker.call(`${verb}_run`, { runId: run.id, callId: randomUUID(), armed: [soon], ...more });

  async function claim(run: Run, token: string): Promise<void> {
    const { turn } = await state(run);
    const turns = [run.toClaim({ turn: Number(turn), token })];
    expect(await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns })).toMatchObject({
      turns: [{ outcome: "claimed" }],
    });
  }

  /** Claims a run, and blocks it at once. */
  async function block(run: Run, position: number): Promise<void> {
    await claim(run, "blocking");
    await run.finish(stage.onlooker, { token: "blocking", position, next: "blocked", value: "other code" });
  }

  return { repair, claim, block };
}

/** Builds runs that have failed. */
export function failedRunsOn(stage: Stage) {
  const { repair, claim } = repairsOn(stage);
  const aFailedRun = () => aFailedRunOn(stage);

  /** One that goes on after its retry, with a failed attempt, a map and a setback in its second epoch. */
  async function aRetriedRun(): Promise<Run> {
    const run = await aFailedRun();
    await repair(run, "retry");
    await claim(run, "third");
    const attempt = { ...at("b"), number: 1, beganAt: noon, endedAt: noon + minute, error: "0null", demandedAfter: 5 };
    const map = { path: "all", slots: 1, failsFast: false };
    const demands = [aDemand("branch", "all/a", { map, demandedAfter: 5 })];
    await run.finish(stage.onlooker, { token: "third", position: 5, attempt, demands });
    await stage.look(
      "insert into layover.setback (run_id, path, occurrence, turn, reason, tries, since, until) values ($1, '', 0, 1, '', 1, layover.now(), layover.now())",
      [run.id],
    );
    return run;
  }

  return { aFailedRun, aRetriedRun };
}

/**
 * A run that has failed in its second turn. It has taken a signal and an answer, has an attempt, a patch and a closed name, and
 * has mail that it has not taken.
 */
async function aFailedRunOn(stage: Stage): Promise<Run> {
  await stage.clock.set(noon);
  const run = await aRunAtWork(stage, { timeoutMs: 60 * minute, encodedInput: '0"first"' });
  const attempt = { ...at("a"), number: 1, beganAt: noon, endedAt: noon, error: "0null", demandedAfter: 0 };
  await run.finish(stage.onlooker, {
    ...{ token: "first", attempt, patches: [{ path: "check first", position: 1 }] },
    records: [aRecord("step", "a"), aRecord("close", "stop", { value: "0true" })],
    demands: [aWaitFor("go"), aDemand("callback", "approval", { ordinal: 2 })],
  });
  await run.signal(stage.onlooker, "go");
  await run.signal(stage.onlooker, "go", { payload: '0"again"' });
  await run.answer(stage.onlooker, "approval");
  await run.claim(stage.onlooker, { turn: 2, token: "second" });
  const [sent] = await stage.look("select min(number)::integer as number from layover.signal where run_id = $1", [
    run.id,
  ]);
  const records = [
    aRecord("signal", "go", { value: '0"here"', signal: Number(sent?.["number"]) }),
    aRecord("callback", "approval", { value: "0true" }),
    aRecord("step", "b", { isFailure: true }),
    aRecord("step", "c"),
  ];
  const failure = { at: 5, timeouts: [], lost: [], repeats: [] };
  await stage.clock.set(noon + second);
  expect(
    await run.finish(stage.onlooker, {
      ...{ token: "second", position: 2, records, next: "failed", value: '0{"message":"no"}', failure },
    }),
  ).toMatchObject({ outcome: "finished" });
  await stage.look(
    `update layover.run_state set lost = 2, spared = 1, lost_token = gen_random_uuid(), dispatches = 3, claims = 1, beginnings = 1,
       begun = 'a#1/1', is_interrupted = true, custom_status = '0"busy"' where run_id = $1`,
    [run.id],
  );
  return run;
}
