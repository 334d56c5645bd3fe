/** Which runs a request means. */
import type { RunFilter } from "../client/filter.ts";
import type { LiveFilter } from "../client/many.ts";
import { type RunStatus, runStatuses } from "../client/run-view.ts";
import { LayoverError } from "../core/errors.ts";
import {
  type Body,
  invalidField,
  objectBody,
  optionalInstant,
  optionalNumber,
  optionalText,
  optionalTexts,
  queryInstant,
  queryNumber,
  shorten,
  valuesIn,
} from "./fields.ts";

/** Reads the filter from a query. @throws LayoverError `invalid_request` */
export function filterIn(query: URLSearchParams): RunFilter {
  return {
    workflow: query.get("workflow") ?? undefined,
    version: queryNumber(query, "version"),
    status: statusIn(query),
    tags: tagsIn(query),
    parent: query.get("parent") ?? undefined,
    createdFrom: queryInstant(query, "createdFrom"),
    createdBefore: queryInstant(query, "createdBefore"),
    endedFrom: queryInstant(query, "endedFrom"),
    endedBefore: queryInstant(query, "endedBefore"),
  };
}

export const filterFields = {
  workflow: optionalText,
  version: optionalNumber,
  status: optionalStatus,
  tags: optionalTexts,
  parent: optionalText,
  createdFrom: optionalInstant,
  createdBefore: optionalInstant,
};
export const endedFields = { ...filterFields, endedFrom: optionalInstant, endedBefore: optionalInstant };

/** Reads the filter of an act on many runs from a body. @throws LayoverError `invalid_request` */
export function filterOf(body: Body, field: string): LiveFilter {
  return valuesIn(objectBody(body[field] ?? {}, Object.keys(filterFields)), filterFields);
}

/** The same, for acts that mean runs which are over. */
export function endedFilterOf(body: Body, field: string): RunFilter {
  return valuesIn(objectBody(body[field] ?? {}, Object.keys(endedFields)), endedFields);
}

export function optionalStatus(body: Body, field: string): RunStatus | undefined {
  const status = optionalText(body, field);
  return status === undefined ? undefined : checkStatus(status);
}

function statusIn(query: URLSearchParams): RunStatus | undefined {
  const text = query.get("status");
  return text === null ? undefined : checkStatus(text);
}

function checkStatus(text: string): RunStatus {
  const status = runStatuses.find((candidate) => candidate === text);
  if (status !== undefined) return status;
  throw invalidField("status", `${JSON.stringify(shorten(text))} is none`, `It is one of ${runStatuses.join(", ")}.`);
}

/** `?tag=customer:c1&tag=region:eu`. What `:` and `%` are part of the name are written `%3A` and `%25` in it. */
function tagsIn(query: URLSearchParams): Readonly<Record<string, string>> | undefined {
  const tags = query.getAll("tag").map((tag): [string, string] => {
    const colon = tag.indexOf(":");
    const name = decoded(tag.slice(0, Math.max(colon, 0)));
    if (name) return [name, tag.slice(colon + 1)];
    throw invalidField("tag", `${JSON.stringify(shorten(tag))} is not name:value`, "Write ?tag=customer:c1.");
  });
  const byName = new Map(tags);
  if (tags.some(([name, value]) => byName.get(name) !== value)) {
    throw new LayoverError("invalid_request", "a tag is given twice, with two values", {
      hint: "A run has one value for each tag, so no run has both.",
      details: { field: "tag" },
    });
  }
  return tags.length === 0 ? undefined : Object.fromEntries(tags);
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
