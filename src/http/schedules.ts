/** Schedules over HTTP: looked at with the scope `read`, made and changed with `admin`. */
import type { GivenSchedule } from "../core/contract/schedule.ts";
import { LayoverError } from "../core/errors.ts";
import { checkName } from "../core/names.ts";
import { readValue } from "./body.ts";
import type { Contracts } from "./contracts.ts";
import {
  type Body,
  objectBody,
  optionalDuration,
  optionalFlag,
  optionalInstant,
  optionalNumber,
  optionalText,
  optionalTexts,
  queryNumber,
} from "./fields.ts";
import { respondTo } from "./respond.ts";
import type { Route, Visit } from "./route.ts";

export function scheduleRoutes(contracts: Contracts, maxBytes: number): readonly Route[] {
  const bodyOf = async ({ request }: Visit, ...fields: readonly string[]) =>
    objectBody(await readValue(request, maxBytes), ["reason", "by", ...fields]);
  const changes = (["pause", "resume"] as const).map(
    (verb): Route => ({
      method: "POST",
      path: `/v1/schedules/:name/${verb}`,
      scope: "admin",
      answer: async (visit) => {
        const schedule = await visit.client.schedules[verb](visit.param("name"), termsIn(await bodyOf(visit)));
        return respondTo(visit.request, schedule);
      },
    }),
  );
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
        const body = objectBody(await readValue(visit.request, maxBytes), createFields);
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
      answer: async ({ client, request, param, query }) => {
        const [by, reason] = ["by", "reason"].map((field) => query.get(field) ?? undefined);
        await client.schedules.delete(param("name"), { by, reason });
        return respondTo(request, { outcome: "deleted" });
      },
    },
    ...changes,
    {
      method: "POST",
      path: "/v1/schedules/:name/trigger",
      scope: "admin",
      answer: async (visit) => {
        const body = await bodyOf(visit, "runId", "ignoresOverlap");
        const triggered = await visit.client.schedules.trigger(visit.param("name"), {
          ...termsIn(body),
          runId: optionalText(body, "runId"),
          ignoresOverlap: optionalFlag(body, "ignoresOverlap"),
        });
        return respondTo(visit.request, triggered, { status: 201 });
      },
    },
    {
      method: "POST",
      path: "/v1/schedules/:name/adopt",
      scope: "admin",
      answer: async (visit) => {
        const body = await bodyOf(visit, "owner");
        const owner = checkName(optionalText(body, "owner"), "owner");
        return respondTo(
          visit.request,
          await visit.client.schedules.adopt(visit.param("name"), { ...termsIn(body), owner }),
        );
      },
    },
  ];
}

const createFields = [
  "name",
  "workflow",
  "version",
  "input",
  "cron",
  "timezone",
  "every",
  "startAt",
  "at",
  "jitter",
  "overlap",
  "catchUp",
  "tags",
  "replaces",
];

async function create({ client }: Visit, body: Body, contracts: Contracts) {
  const workflow = checkName(optionalText(body, "workflow"), "workflow");
  const version = optionalNumber(body, "version");
  const contract = version === undefined ? contracts.newest(workflow) : contracts.exactly(workflow, version);
  const input = contract.input === undefined ? (body["input"] ?? undefined) : body["input"];
  return await client.schedules.createGiven(checkName(optionalText(body, "name"), "name"), contract, {
    ...calendarIn(body),
    input,
    replaces: optionalFlag(body, "replaces"),
  });
}

/** Which of these may go together is checked where the schedule is made. */
function calendarIn(body: Body): GivenSchedule {
  return {
    cron: optionalText(body, "cron"),
    timezone: optionalText(body, "timezone"),
    every: optionalDuration(body, "every"),
    startAt: optionalInstant(body, "startAt"),
    at: optionalInstant(body, "at"),
    jitter: optionalDuration(body, "jitter"),
    overlap: oneOf(body, "overlap", ["skip", "allow"] as const),
    catchUp: oneOf(body, "catchUp", ["latest", "all", "none"] as const),
    tags: optionalTexts(body, "tags"),
  };
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

function termsIn(body: Body) {
  return { reason: optionalText(body, "reason"), by: optionalText(body, "by") };
}
