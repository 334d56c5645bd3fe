/** The OpenAPI 3.1 document of a deployment, made of its routes' table and of its contracts. */

import { callbackDescriptions } from "../callbacks.ts";
import type { Description, Descriptions } from "../description.ts";
import { exportDescriptions } from "../exports.ts";
import { operationDescriptions } from "../operations.ts";
import { repairDescriptions } from "../repairs.ts";
import { replayCheckDescriptions } from "../replay-check/asked.ts";
import type { Route } from "../route.ts";
import { ownDescriptions } from "../routes.ts";
import { runCallbackDescriptions } from "../run-callbacks.ts";
import { runDescriptions } from "../runs.ts";
import { scheduleDescriptions } from "../schedules.ts";
import { signalDescriptions } from "../signals.ts";
import { startDescriptions } from "../starts.ts";
import { upgradeDescriptions } from "../upgrades.ts";
import { webhookDescriptions } from "../webhooks/deliveries.ts";
import { Components, wordsOf } from "./components.ts";
import type { DocumentTerms } from "./mount.ts";
import { type Operation, operationOf, securitySchemes } from "./operation.ts";
import { ProblemResponses, problemSchema } from "./problems.ts";
import { TypedOperations } from "./typed.ts";
import { views } from "./views.ts";

export interface DocumentOptions {
  /** Its title. */
  readonly title?: string | undefined;
  /** Address of the deployment, with its prefix. Default: where the document was found. */
  readonly url?: string | undefined;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [field: string]: unknown;
}

/** @throws TypeError for a route that nobody has described */
export function openApiDocument(
  { routes, contracts }: DocumentTerms,
  { title = "layover", url = "/" }: DocumentOptions = {},
): OpenApiDocument {
  const components = new Components();
  const problems = new ProblemResponses();
  for (const [name, view] of Object.entries(views)) components.set(name, view);
  components.set("Problem", problemSchema);
  const known = descriptions();
  const described = routes.map((route) => ({ route, description: descriptionOf(route, known) }));
  for (const { description } of described) components.unique(description.id);
  const typed = new TypedOperations(contracts, components);
  const operations = described.flatMap(({ route, description }): readonly Operation[] => [
    operationOf(route, description, { problems }),
    ...typed.of(description).map((one) => operationOf(route, description, { problems, typed: one })),
  ]);
  const byPath = Map.groupBy(operations, ({ path }) => path);
  const paths = [...byPath].map(([path, atPath]): [string, Operation["body"]] => [
    path,
    Object.fromEntries(atPath.map(({ method, body }) => [method, body])),
  ]);
  return {
    openapi: "3.1.0",
    info: { title, version: versionOf(contracts), description: about },
    servers: [{ url }],
    paths: Object.fromEntries(paths),
    components: { schemas: components.all(), responses: problems.all(), securitySchemes },
  };
}

const about = `Runs of durable workflows: start them, look at them, send them signals, answer their callbacks.

A start may be sent again: with an id of yours, or the header \`Idempotency-Key\`, nothing happens twice. Errors are problem
documents (RFC 9457) with a stable \`code\`. Values are plain JSON: a Date is ISO 8601, a bigint its digits, a Map a list of
pairs, a Set a list. A value that cannot be shown is \`{ "unreadable": why }\`, whatever its schema says.`;

/** Changes with the contracts, and not with each deploy. */
function versionOf(contracts: DocumentTerms["contracts"]): string {
  return contracts.map(({ name, version }) => `${name}@${version}`).join(", ") || "0";
}

/** All descriptions of routes. */
export function descriptions(): Descriptions {
  return {
    ...startDescriptions(),
    ...runDescriptions(),
    ...signalDescriptions(),
    ...operationDescriptions(),
    ...exportDescriptions(),
    ...upgradeDescriptions(),
    ...replayCheckDescriptions(),
    ...scheduleDescriptions(),
    ...repairDescriptions(),
    ...runCallbackDescriptions(),
    ...callbackDescriptions(),
    ...webhookDescriptions(),
    ...ownDescriptions(),
    "GET /openapi.json": {
      id: "getOpenApi",
      does: "Answers this document.",
      answers: { 200: "OpenApi" },
    },
  };
}

function descriptionOf({ method, path }: Route, known: Descriptions): Description {
  const webhook = /^\/webhooks\/([\w-]+)$/.exec(path)?.[1];
  const description = known[`${method} ${webhook === undefined ? path : "/webhooks/:name"}`];
  if (description === undefined)
    throw new TypeError(`the route ${method} ${path} is not described: see description.ts`);
  return webhook === undefined ? description : { ...description, id: `${description.id}${wordsOf(webhook)}` };
}
