/**
 * Calls of each function that locks rows, by somebody who knows only what the rows say right now: leases of others,
 * turns that are over, sets in any order. None of these calls is sensible, and the engine must survive all of them.
 * Functions that only read wait for nobody, so they are left out.
 */
import { randomUUID } from "node:crypto";
import { motionMinute } from "../../src/core/waking.ts";
import type * as wire from "../../src/postgres/wire.ts";
import { pick, shuffled } from "../races/by-chance.ts";
import { aDemand, aRecord, at, terms } from "../races/runs.ts";
import type { Row, Session } from "../races/stage.ts";
import { armed, branchesOf, call, type Move, runsOf, some } from "./hammer-ground.ts";
import { peoplesMoves } from "./hammer-people.ts";
import { movesOfSchedules } from "./hammer-schedules.ts";
import { aValue, movesOfValues } from "./hammer-values.ts";

/** All moves, by the function that they call. Where a function has several moves, its name is each one's first word. */
export const moves: Readonly<Record<string, Move>> = {
  ...peoplesMoves,
  ...movesOfSchedules,
  ...movesOfValues,
  void_leases: (session) => session.call("void_leases", {}),
  claim_turns: async (session, ground) => {
    await claim(session, some([...(await runsOf(ground)), ...(await branchesOf(ground))]));
  },
  "claim_turns of branches": async (session, ground) => await claim(session, some(await branchesOf(ground))),
  finish_turns: async (session, ground) => {
    const runs = (await runsOf(ground)).filter(({ token }) => token !== null).map(toFinish);
    const branches = (await branchesOf(ground)).filter(({ token }) => token !== null).map(toBranchFinish);
    await finish(session, some([...runs, ...branches]));
  },
  "finish_turns of runs": async (session, ground) => {
    const runs = (await runsOf(ground)).filter(({ token }) => token !== null);
    await finish(session, some(runs.map(toFinish)));
  },
  "finish_turns of branches": async (session, ground) => {
    const branches = (await branchesOf(ground)).filter(({ token }) => token !== null);
    await finish(session, some(branches.map(toBranchFinish)));
  },
  finish_once: async (session, ground) => {
    const runs = (await runsOf(ground)).filter(({ token }) => token !== null);
    const branches = (await branchesOf(ground)).filter(({ token }) => token !== null);
    const turns = [...runs.map(toStepFinish), ...branches.map(toBranchRecord)];
    const work = call(session, "finish_once", {
      ...terms,
      notAfter: Date.now() + 60_000,
      turn: pick(turns),
      armed: armed(),
    });
    await work.catch((error: unknown) => {
      if (!isOfAnotherTurn(error)) throw error;
    });
  },
  renew_leases: async (session, ground) => {
    const held = [...(await runsOf(ground)), ...(await branchesOf(ground))].filter(({ token }) => token !== null);
    const turns = some(held).map((row) => ({ ...toTurn(row), token: row["token"] }));
    await session.call("renew_leases", { leaseMs: pick([1, 60_000]), turns });
  },
  return_leases: async (session, ground) => {
    const held = [...(await runsOf(ground)), ...(await branchesOf(ground))].filter(({ token }) => token !== null);
    const turns = some(held).map((row) => ({ ...toTurn(row), token: row["token"] }));
    await call(session, "return_leases", { turns });
  },
  read_ends: async (session, { stage }) => {
    const ofParents = `select t.run_id as "runId", t.turn, t.token, array_agg(c.id) as children
         from layover.run_state t join layover.run c on c.parent_run_id = t.run_id join layover.run_state s on s.run_id = c.id
        where t.ended_at is null group by t.run_id order by count(s.ended_at) desc limit 1`;
    await claim(session, await stage.look(ofParents));
    const [{ runId, token, children } = {}] = await stage.look(ofParents);
    const runIds = shuffled([randomUUID(), ...(Array.isArray(children) ? children : [])]);
    await call(session, "read_ends", { runId: runId ?? randomUUID(), token: token ?? randomUUID(), runIds });
  },
  move_due: async (session) => {
    const isNew = Math.random() < 0.5;
    const { runs } = await session.call("list_due", { versions: terms.versions, limit: 100, isNew });
    const listed = runs.map(({ runId, dueAt, isReady, branches }) => ({
      ...{ runId, seenDueAt: dueAt, dueAt: motionMinute(Date.now()), isDispatched: isReady },
      branches: shuffled(branches ?? []),
    }));
    const soonAt = Math.random() < 0.5 ? { soonAt: motionMinute(Date.now()) } : {};
    await session.call("move_due", { moves: shuffled(listed), isNew, ...soonAt });
  },
  prune_runs: (session) => session.call("prune_runs", { keepMs: 50, keepFailedMs: 50, limit: 3 }),
  note_deployment: (session) => {
    const { environment, endpoint } = terms;
    return call(session, "note_deployment", { environment, endpoint, deployment: randomUUID() });
  },
  note_process: async (session) => {
    const { environment, endpoint, versions } = terms;
    const [id = "", ...gone] = shuffled(processIds);
    const isLeaving = Math.random() < 0.2;
    const self = { id, door: "http://10.0.0.7:3000", versions, isLeaving };
    await session.call("note_process", { environment, endpoint, ...self, gone, silentMs: pick([-1_000, 1_000]) });
  },
  receive_delivery: async (session, { ids }) => {
    const deeds = shuffled([...ids, "nobody's"])
      .slice(0, 1 + Math.floor(Math.random() * 3))
      .map(toDeed);
    // What is kept is due at once, so that the next move finds it.
    const delivery = { webhook: "sender", delivery: pick(["d0", "d1", randomUUID()]), deeds, armed: [Date.now()] };
    const replay = Math.random() < 0.5 ? { replay: {} } : {};
    await untilThere(() => session.call("receive_delivery", { ...delivery, ...replay }));
  },
  send_kept_signals: (session) =>
    session.call("send_kept_signals", { limit: 5, armed: armed(), waits: Math.random() < 0.5 }),
  adopt_environment: (session) => session.call("adopt_environment", terms),
  create_key: (session) => session.call("create_key", { keyId: randomUUID(), name: pick(keyNames), scopes: ["read"] }),
  revoke_key: (session) => call(session, "revoke_key", { name: pick(keyNames) }),
};

/** Sends a call again, as processes do, while a run that it has found is deleted before it has locked the run. */
async function untilThere(send: () => Promise<unknown>): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (!/was deleted meanwhile/.test(String(error))) throw error;
    await untilThere(send);
  }
}

const keyNames = ["ada", "bob"];
const processIds = [randomUUID(), randomUUID(), randomUUID()];
let count = 0;

function toDeed(id: string): object {
  const signal = { workflow: "flow", id, signalId: randomUUID(), name: "go", encodedPayload: "0null" };
  const start = { workflow: "flow", version: 1, id, runId: randomUUID(), encodedInput: "0{}" };
  return pick([start, signal, { ...signal, ...start }]) ?? start;
}

/** Claims one turn alone, or several as a group, so that turns whose leases were lost may be among them. */
async function claim(session: Session, rows: readonly Row[]): Promise<void> {
  const alone = Math.random() < 0.4;
  const turns = (alone ? rows.slice(0, 1) : rows).map((row) => ({
    ...toTurn(row),
    token: randomUUID(),
    alone,
    ...(!alone && { groupSize: 4 }),
  }));
  await session.call("claim_turns", {
    ...terms,
    knowsEpochs: true,
    knowsThrows: true,
    leaseMs: pick([1, 50, 60_000]),
    turns,
  });
}

async function finish(session: Session, turns: readonly object[]): Promise<void> {
  const answer = await session.call("finish_turns", { ...terms, leaseMs: 60_000, turns });
  for (const told of answer.turns) {
    if (told.outcome === "raised") throw Object.assign(new Error(told.message), { code: told.sqlState });
  }
}

function toTurn({ runId, turn, path, occurrence }: Row): Readonly<Record<string, unknown>> {
  return path === undefined ? { runId, turn } : { runId, turn, path, occurrence };
}

/**
 * Makes a finish. It rarely ends the run, so that many runs stay at work. It demands nothing of a run that closes: that run may wait for a day
 * for the runs that it has cancelled, and would not look at what was demanded and is recorded.
 */
function toFinish({ runId, turn, token, position, isClosing }: Row): object {
  const held = { runId, token, position, armed: armed() };
  const chance = Math.random();
  if (chance < 0.03) return { ...held, next: pick(["completed", "cancelled", "failed"]), value: aValue() };
  if (chance < 0.5) {
    const claim = { ...toTurn({ runId, turn: Number(turn) + 1 }), token: randomUUID(), alone: false };
    return { ...held, next: "ready", ...(Math.random() < 0.5 && { claim }) };
  }
  const records = Math.random() < 0.5 ? [aRecord("step", name("step"), { at: Date.now() })] : [];
  const race = `${name("race")}/`;
  const slots = pick([1, 2, null]) ?? null;
  const map = { path: `${name("map")}`, slots, failsFast: Math.random() < 0.5 };
  const demands = [
    aDemand("callback", name("callback"), wait(position)),
    aDemand("signal", name("signal"), { ...wait(position), signal: "address" }),
    ...["a", "b"].map((branch) => aDemand("branch", `${race}${branch}`, wait(position))),
    ...["a", "b", "c"].map((branch) => aDemand("branch", `${map.path}/${branch}`, { ...wait(position), map })),
  ];
  const released = [{ prefix: "race", position: Number(position) + records.length }];
  const children = Math.random() < 0.3 ? ["one", "two"].map((path) => aChild(name(path), position)) : [];
  return {
    ...held,
    next: "parked",
    records,
    ...(isClosing !== true && { demands: some(demands), children }),
    ...(Math.random() < 0.3 && { released }),
  };
}

function aChild(path: string, position: unknown): object {
  const more = pick([{}, {}, { isBound: true }, { isDetached: true }] as const);
  const flow = { workflow: "flow", version: 1, input: "0{}" };
  return { ...at(path), ...wait(position), runId: randomUUID(), ...flow, id: pick(["c0", "c1", "c2", "c3"]), ...more };
}

/** Makes the finish of a run's own step. */
function toStepFinish({ runId, token, position }: Row): object {
  const records = [aRecord("step", name("step"), { at: Date.now() })];
  return { runId, token, position, next: "ready", records, armed: armed() };
}

function toBranchFinish(row: Row): object {
  if (Math.random() < 0.7) return toBranchRecord(row);
  const { runId, path, occurrence, turn, token } = row;
  const now = Date.now();
  const attempt = { number: turn, beganAt: now, endedAt: now, error: "0", retryInMs: 0 };
  return { runId, path, occurrence, turn, token, armed: armed(), attempt };
}

function toBranchRecord({ runId, path, occurrence, turn, token }: Row): object {
  const now = Date.now();
  const record = { value: "0", isFailure: Math.random() < 0.2, at: now, beganAt: now, attempts: 1 };
  return { runId, path, occurrence, turn, token, armed: armed(), record };
}

function wait(position: unknown): Pick<wire.NewDemand, "demandedAfter" | "ordinal"> {
  count += 1;
  return { demandedAfter: Number(position), ordinal: count };
}

function name(kind: string): string {
  count += 1;
  return `${kind}${count}h`;
}

function isOfAnotherTurn(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "LO013";
}
