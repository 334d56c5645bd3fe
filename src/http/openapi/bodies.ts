/** The fields of bodies as JSON Schema: each reader of a field has one. */

import { runStatuses } from "../../client/run-view.ts";
import {
  anyValue,
  type Fields,
  optionalDuration,
  optionalFlag,
  optionalInstant,
  optionalNumber,
  optionalText,
  optionalTexts,
  type ReadField,
  requiredNumber,
  requiredText,
} from "../fields.ts";
import { endedFields, endedFilterOf, filterFields, filterOf, optionalStatus } from "../filter.ts";
import { optionalResults, optionalSignal } from "../repairs.ts";
import { mostRuns, someRunIds } from "../replay-check/asked.ts";
import { optionalCatchUp, optionalOverlap } from "../schedules.ts";
import { requiredCount, requiredMailNumber, requiredVersion } from "../upgrades.ts";
import {
  anything,
  described,
  flag,
  instant,
  type JsonSchema,
  nullable,
  object,
  oneOf,
  optional,
  record,
  text,
  uuid,
} from "./schema.ts";

const schemas: ReadonlyMap<ReadField, JsonSchema> = new Map<ReadField, JsonSchema>([
  [anyValue, anything],
  [optionalText, nullable(text)],
  [optionalNumber, nullable({ type: "integer" })],
  [requiredNumber, { type: "integer" }],
  [requiredVersion, { type: "integer", minimum: 1, maximum: 2 ** 31 - 1 }],
  [requiredCount, { type: "integer", minimum: 0, maximum: 2 ** 31 - 1 }],
  [requiredMailNumber, { type: "integer", minimum: 0 }],
  [requiredText, text],
  [optionalFlag, nullable(flag)],
  [someRunIds, { type: "array", items: uuid, minItems: 1, maxItems: mostRuns }],
  [
    optionalDuration,
    described("Milliseconds, or a text such as `30s` or `3 days`.", { type: ["string", "number", "null"] }),
  ],
  [optionalInstant, nullable(instant)],
  [optionalTexts, nullable(record(text))],
  [optionalStatus, nullable(oneOf(...runStatuses))],
  [optionalOverlap, nullable(oneOf("skip", "allow"))],
  [optionalCatchUp, nullable(oneOf("latest", "all", "none"))],
  [optionalResults, described("Results of steps, by their places: `ship[3]/send`.", nullable(record(anything)))],
  [
    optionalSignal,
    described(
      "Is sent to the run in the same act.",
      object<{ name: string; payload: unknown }>({ name: text, payload: optional(anything) }),
    ),
  ],
]);

/** The body of a request. `required`: the fields without which it is refused. */
export function bodySchema(fields: Fields, required: readonly string[] = []): JsonSchema {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, read]) => [name, fieldSchema(name, read)]));
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function fieldSchema(name: string, read: ReadField): JsonSchema {
  if (read === filterOf) return described("Which runs. At least one of these.", bodySchema(filterFields));
  if (read === endedFilterOf) return described("Which runs. At least one of these.", bodySchema(endedFields));
  const schema = schemas.get(read);
  if (schema !== undefined) return schema;
  throw new TypeError(`the field ${name} of a body is read by a reader that has no schema in openapi/bodies.ts`);
}

/** Why a callback is rejected: the fields of an error. */
export const rejection: JsonSchema = {
  ...object<{ message: string; name?: string; code?: string; data?: unknown }>({
    message: text,
    name: optional(text),
    code: optional(text),
    data: optional(anything),
  }),
};
