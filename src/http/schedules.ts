/** Schedules over HTTP: looked at with the scope `read`, made and changed with `admin`. */
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import {
  anyValue,
  type Body,
  optionalDuration,
  optionalFlag,
  optionalInstant,
  optionalNumber,
  optionalText,
  optionalTexts,
  queryNumber,
  readFields,
  type ValuesOf,
} from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

const pauseFields = { reason: optionalText, by: optionalText };
const triggerFields = { ...pauseFields, runId: optionalText, ignoresOverlap: optionalFlag };
const resumeFields = {};
const adoptFields = { owner: optionalText };
const createFields = {
  name: optionalText,
  workflow: optionalText,
  version: optionalNumber,
  input: anyValue,
  cron: optionalText,
  timezone: optionalText,
  every: optionalDuration,
  startAt: optionalInstant,
  at: optionalInstant,
  jitter: optionalDuration,
  overlap: optionalOverlap,
  catchUp: optionalCatchUp,
  tags: optionalTexts,
  replaces: optionalFlag,
};

export function scheduleRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/v1/schedules",
      scope: "read",
      isHeavy: true,
      answer: async ({ client, request, query }) => {
        const options = { workflow: query.get("workflow") ?? undefined, cursor: query.get("cursor") ?? undefined };
        return respondTo(request, await client.schedules.list({ ...options, limit: queryNumber(query, "limit") }));
      },
    },
    {
      method: "POST",
      path: "/v1/schedules",
      scope: "admin",
      answer: async (visit) => {
        const body = await readFields(visit.request, maxBytes, createFields);
        const created = await create(visit, body, contracts);
        return respondTo(visit.request, created, { status: created.outcome === "created" ? 201 : 200 });
      },
    },
    {
      method: "GET",
      path: "/v1/schedules/:name",
      scope: "read",
      answer: async ({ client, request, param }) => respondTo(request, await client.schedules.get(param("name"))),
    },
    {
      method: "DELETE",
      path: "/v1/schedules/:name",
      scope: "admin",
      answer: async ({ client, request, param }) => {
        await client.schedules.delete(param("name"));
        return respondTo(request, { outcome: "deleted" });
      },
    },
    {
      method: "POST",
      path: "/v1/schedules/:name/pause",
      scope: "admin",
      answer: async (visit) => {
        const asked = await readFields(visit.request, maxBytes, pauseFields);
        return respondTo(visit.request, await visit.client.schedules.pause(visit.param("name"), asked));
      },
    },
    {
      method: "POST",
      path: "/v1/schedules/:name/resume",
      scope: "admin",
      answer: async (visit) => {
        await readFields(visit.request, maxBytes, resumeFields);
        return respondTo(visit.request, await visit.client.schedules.resume(visit.param("name")));
      },
    },
    {
      method: "POST",
      path: "/v1/schedules/:name/trigger",
      scope: "admin",
      answer: async (visit) => {
        const asked = await readFields(visit.request, maxBytes, triggerFields);
        const triggered = await visit.client.schedules.trigger(visit.param("name"), asked);
        return respondTo(visit.request, triggered, { status: 201 });
      },
    },
    {
      method: "POST",
      path: "/v1/schedules/:name/adopt",
      scope: "admin",
      answer: async (visit) => {
        const given = await readFields(visit.request, maxBytes, adoptFields);
        const owner = checkName(given.owner, "owner");
        return respondTo(visit.request, await visit.client.schedules.adopt(visit.param("name"), { owner }));
      },
    },
  ];
}

async function create(
  { client }: Visit,
  { name, workflow, version, input, replaces, ...calendar }: ValuesOf<typeof createFields>,
  contracts: Contracts,
) {
  const starts = checkName(workflow, "workflow");
  const contract = version === undefined ? contracts.newest(starts) : contracts.exactly(starts, version);
  // Which parts of a calendar may go together is checked where the schedule is made.
  return await client.schedules.createGiven(checkName(name, "name"), contract, {
    ...calendar,
    input: contract.input === undefined ? (input ?? undefined) : input,
    replaces,
  });
}

export function optionalOverlap(body: Body, field: string): "skip" | "allow" | undefined {
  return oneOf(body, field, ["skip", "allow"] as const);
}

export function optionalCatchUp(body: Body, field: string): "latest" | "all" | "none" | undefined {
  return oneOf(body, field, ["latest", "all", "none"] as const);
}

function oneOf<Word extends string>(body: Body, field: string, words: readonly Word[]): Word | undefined {
  const given = optionalText(body, field);
  const word = words.find((each) => each === given);
  if (word !== undefined || given === undefined) return word;
  throw new LayoverError("invalid_request", `${field} ${JSON.stringify(given.slice(0, 60))} is not known`, {
    hint: `Write ${words.map((each) => JSON.stringify(each)).join(" or ")}.`,
    details: { field },
  });
}

export function scheduleDescriptions(): Descriptions {
  const refusals = ["unknown_schedule", "invalid_name", "invalid_request"] as const;
  return {
    "GET /v1/schedules": {
      id: "listSchedules",
      does: "Lists schedules, by name.",
      query: ["workflow", "limit", "cursor"],
      answers: { 200: "SchedulePage" },
      problems: ["invalid_request"],
    },
    "POST /v1/schedules": {
      id: "createSchedule",
      does: "Makes a schedule that no code declares. The same again changes nothing.",
      body: createFields,
      answers: { 201: "ScheduleCreated", 200: "ScheduleCreated" },
      problems: [
        "invalid_name",
        "invalid_duration",
        "invalid_schedule",
        "invalid_input",
        "unknown_workflow",
        "schedule_conflict",
        "value_too_large",
        "unstorable_value",
      ],
    },
    "GET /v1/schedules/:name": {
      id: "getSchedule",
      does: "Answers a schedule.",
      answers: { 200: "Schedule" },
      problems: refusals,
    },
    "DELETE /v1/schedules/:name": {
      id: "deleteSchedule",
      does: "Deletes a schedule.",
      answers: { 200: "ScheduleDeleted" },
      problems: [...refusals, "schedule_conflict"],
    },
    "POST /v1/schedules/:name/pause": {
      id: "pauseSchedule",
      does: "Pauses a schedule until it is resumed. A deploy does not end that.",
      body: pauseFields,
      answers: { 200: "Schedule" },
      problems: refusals,
    },
    "POST /v1/schedules/:name/resume": {
      id: "resumeSchedule",
      does: "Ends the pause of a schedule.",
      body: resumeFields,
      answers: { 200: "Schedule" },
      problems: [...refusals, "invalid_schedule"],
    },
    "POST /v1/schedules/:name/trigger": {
      id: "triggerSchedule",
      does: "Starts a run of a schedule now, beside its calendar.",
      body: triggerFields,
      answers: { 201: "Triggered" },
      problems: [...refusals, "schedule_overlap", "not_applicable", "invalid_schedule"],
    },
    "POST /v1/schedules/:name/adopt": {
      id: "adoptSchedule",
      does: "Gives a schedule to another deployment, whose code declares it.",
      body: adoptFields,
      answers: { 200: "Schedule" },
      problems: [...refusals, "not_applicable", "invalid_schedule"],
    },
  };
}
