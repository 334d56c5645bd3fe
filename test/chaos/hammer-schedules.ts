/** Calls of the hunt for deadlocks that concern schedules: a few of them, made, changed, declared, fired and stopped in any order. */
import { randomUUID } from "node:crypto";
import { pick, shuffled } from "../races/by-chance.ts";
import { terms } from "../races/runs.ts";
import { armed, call, type Move, some } from "./hammer-ground.ts";

const names = ["nightly", "hourly", "once"];
const owners = ["server", "worker"];

export const movesOfSchedules: Readonly<Record<string, Move>> = {
  ...Object.fromEntries(
    ["pause", "resume", "delete"].map((verb): [string, Move] => [
      `${verb}_schedule`,
      async (session) => await call(session, `${verb}_schedule`, { name: pick(names), armed: armed() }),
    ]),
  ),
  create_schedule: async (session) =>
    await session.call("create_schedule", { ...aSchedule(), replaces: true, armed: armed() }),
  trigger_schedule: async (session) => {
    const ignoresOverlap = Math.random() < 0.5;
    await session.call("trigger_schedule", { name: pick(names), ignoresOverlap, armed: armed() });
  },
  adopt_schedule: async (session) =>
    await session.call("adopt_schedule", { name: pick(names), owner: pick(owners), armed: armed() }),
  fire_schedules: async (session) => {
    // One of them at least is due, whatever the others did to them before.
    await session.call("create_schedule", { ...aSchedule(), replaces: true, armed: [Date.now()] });
    await session.call("fire_schedules", { ...terms, names: shuffled(names), armed: armed() });
  },
  "note_deployment that declares schedules": async (session) => {
    const schedules = Object.fromEntries(some(names).map((name) => [name, aDefinition()]));
    const told = { note: "deployed", deployment: randomUUID(), deploymentName: pick(owners) };
    await session.call("note_deployment", { ...terms, ...told, schedules, armed: armed() });
  },
};

function aSchedule(): object {
  return { name: pick(names), definition: aDefinition() };
}

/** Its first instant is a moment from now. */
function aDefinition(): object {
  const calendar = pick([{ at: Date.now() + 5 }, { everyMs: 60_000, startAt: Date.now() - 59_995 }]);
  const more = pick([{}, { overlap: "allow" }, { overlap: "allow", catchUp: "all" }]);
  return { workflow: "flow", version: 1, encodedInput: "0{}", ...calendar, ...more };
}
