/**
 * Calls of the hunt for deadlocks that people make: starts, signals, answers, verbs on one run or on many, another epoch.
 */
import { randomUUID } from "node:crypto";
import { newRunId } from "../../src/client/new-run-id.ts";
import { pick } from "../races/by-chance.ts";
import { at } from "../races/runs.ts";
import { armed, call, endedRunsOf, type Ground, type Move, runsOf } from "./hammer-ground.ts";

export const peoplesMoves: Readonly<Record<string, Move>> = {
  start_run: (session, { ids }) =>
    session.call("start_run", {
      ...{ runId: randomUUID(), workflow: "flow", version: 1, encodedInput: "0{}", id: pick(ids), armed: armed() },
      ...(Math.random() < 0.2 && { timeoutMs: 300 }),
    }),
  send_signal: async (session, ground) => {
    const runId = pick(await runsOf(ground))?.["runId"] ?? randomUUID();
    const signal = { signalId: randomUUID(), name: "address", encodedPayload: "0", armed: armed() };
    await session.call("send_signal", { runId, ...signal, ...(Math.random() < 0.5 && { dedupeId: pick(["a", "b"]) }) });
  },
  answer_callback: async (session, ground) => {
    const waits = await ground.stage.look(
      `select run_id as "runId", path from layover.pending where kind = 'callback' union all
       select run_id, path from layover.callback`,
    );
    const { runId = randomUUID(), path = "none" } = pick(waits) ?? {};
    const answer = { epoch: 0, ...at(String(path)), outcome: "resolved", value: pick(["1", "2"]), armed: armed() };
    await session.call("answer_callback", { runId, ...answer });
  },
  signal_with_start: (session, { ids }) => call(session, "signal_with_start", { ...aStart(pick(ids)), ...aSignal() }),
  ...Object.fromEntries(
    ["pause", "resume", "cancel", "terminate", "export"].map((verb): [string, Move] => [
      `${verb}_run`,
      async (session, ground) => await call(session, `${verb}_run`, onRun(pick(await runsOf(ground))?.["runId"])),
    ]),
  ),
  upgrade_run: async (session, ground) => {
    const { runId } = pick(await runsOf(ground)) ?? {};
    const [looked] = await ground.stage.look(
      `select r.version as "from", t.epoch, t.turn, t.last_position as position, layover.last_mail(r.id)::int as "lastMail"
         from layover.run r join layover.run_state t on t.run_id = r.id where r.id = $1`,
      [runId],
    );
    // The hunt's claims carry version 1 only, so most runs stay there, and the others come back.
    const to = looked?.["from"] === 2 ? 1 : pick([1, 1, 2]);
    if (looked !== undefined) await call(session, "upgrade_run", { ...onRun(runId), ...looked, to });
  },
  operate_runs: async (session) => {
    const verb = pick(["pause", "resume", "resume", "cancel", "terminate", "retry", "restart", "delete", "signal"]);
    const filter = {
      workflow: "flow",
      ...(verb === "restart" && { status: pick(["cancelled", "failed", "completed"]) }),
    };
    await call(session, "operate_runs", {
      verb,
      filter,
      callId: newRunId(Date.now()),
      ...(verb === "signal" && { signal: { name: "go", encodedPayload: "0null" } }),
      ...(verb === "delete" && pick([true, false]) && { cancels: true }),
      limit: pick([2, 100]),
      armed: armed(),
    });
  },
  pause_workflow: async (session) => await call(session, "pause_workflow", { workflow: "flow", callId: randomUUID() }),
  resume_workflow: async (session) =>
    await call(session, "resume_workflow", { workflow: "flow", callId: randomUUID() }),
  "operate_runs that a workflow's pause holds": async (session) => {
    const more = { filter: { workflow: "flow" }, holds: true, limit: 100, armed: armed() };
    for (const verb of ["pause", "resume"])
      await call(session, "operate_runs", { verb, callId: newRunId(Date.now()), ...more });
  },
  retry_run: async (session, ground) =>
    await call(session, "retry_run", onRun(pick(await endedRunsOf(ground))?.["runId"])),
  restart_run: async (session, ground) => await call(session, "restart_run", await aCut(ground)),
  fork_run: async (session, ground) =>
    await call(session, "fork_run", { ...(await aCut(ground)), newRunId: randomUUID(), id: pick(["f0", "f1"]) }),
  delete_run: async (session, ground) =>
    await call(session, "delete_run", onRun(pick(await endedRunsOf(ground))?.["runId"])),
};

function aStart(id: string | undefined): object {
  return { runId: randomUUID(), workflow: "flow", version: 1, encodedInput: "0{}", id, armed: armed() };
}

function aSignal(): object {
  return { signalId: randomUUID(), name: "address", encodedPayload: "0" };
}

function onRun(runId: unknown = randomUUID()): object {
  return { runId, callId: randomUUID(), armed: armed() };
}

/** A run that is over, and where its history is cut: before its first record, or after it. */
async function aCut(ground: Ground): Promise<object> {
  const { runId, path, occurrence } = pick(await endedRunsOf(ground)) ?? {};
  return { ...onRun(runId), ...(typeof path === "string" && Math.random() < 0.5 && { from: { path, occurrence } }) };
}
