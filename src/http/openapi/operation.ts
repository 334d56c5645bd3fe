/** One operation of the document: a route, with what is said of it beside. */
import { errorCodes } from "../../core/errors.ts";
import { type Scope, scopes } from "../api-key.ts";
import type { Description } from "../description.ts";
import type { Route } from "../route.ts";
import { bodySchema, rejection } from "./bodies.ts";
import { forkKey, idempotencyKey, pathParameter, queryParameter, traceparent } from "./parameters.ts";
import { codesOf, type ProblemResponses } from "./problems.ts";
import { anything, type JsonSchema, ref, text } from "./schema.ts";
import type { ViewName } from "./views.ts";

export interface Operation {
  readonly method: string;
  /** The path, with its parameters in braces. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the operation of one contract says more exactly. */
export interface Typed {
  /** Values for parameters of the path. */
  readonly values: Readonly<Record<string, string>>;
  readonly id: string;
  readonly does: string;
  readonly body?: JsonSchema;
  readonly isBodyRequired?: boolean;
  /** Schemas that stand for those of a view. */
  readonly views?: { readonly [View in ViewName]?: JsonSchema };
}

export function operationOf(
  route: Route,
  description: Description,
  { problems, typed }: { readonly problems: ProblemResponses; readonly typed?: Typed },
): Operation {
  const { query = [], takesKey = false } = description;
  const { path } = route;
  const names = [...path.matchAll(/:(\w+)/g)].flatMap(([, name]) => name ?? []);
  const free = names.filter((name) => typed?.values[name] === undefined);
  const parameters = [
    ...free.map((name) => pathParameter(path, name)),
    ...query.map(queryParameter),
    ...(takesKey ? (path.endsWith("/fork") ? [forkKey] : [idempotencyKey, traceparent]) : []),
  ];
  const requestBody = bodyOf(description, typed);
  return {
    method: route.method.toLowerCase(),
    path: path.replace(/:(\w+)/g, (_, name: string) => encoded(typed?.values[name]) ?? `{${name}}`),
    body: {
      operationId: typed?.id ?? description.id,
      summary: typed?.does ?? description.does,
      tags: [tagOf(path)],
      security: securityOf(route, query.includes("wait")),
      ...(parameters.length > 0 && { parameters }),
      ...(requestBody !== undefined && { requestBody }),
      responses: responsesOf(route, description, { typed, problems }),
    },
  };
}

/** Braces in a name must not look like a parameter. `encodeURIComponent` writes them as `%7B`. */
function encoded(value: string | undefined): string | undefined {
  return value === undefined ? undefined : encodeURIComponent(value);
}

function bodyOf({ body, hasPages = false }: Description, typed: Typed | undefined): object | undefined {
  if (body === undefined) return undefined;
  if (body === "Delivery") return { content: { "*/*": { schema: anything } }, required: true };
  const schema = typed?.body ?? schemaOf(body);
  return {
    content: {
      "application/json": { schema },
      ...(hasPages && { "application/x-www-form-urlencoded": { schema: { type: "object" } } }),
    },
    required: typed?.isBodyRequired ?? false,
  };
}

function schemaOf(body: Exclude<Description["body"], undefined | "Delivery">): JsonSchema {
  if (body === "AnyValue") return anything;
  return body === "Rejection" ? rejection : bodySchema(body);
}

interface ResponseTerms {
  readonly typed: Typed | undefined;
  readonly problems: ProblemResponses;
}

function responsesOf(route: Route, description: Description, { typed, problems }: ResponseTerms): object {
  const { answers, hasPages = false } = description;
  const codes = Map.groupBy(codesOf(route, description), (code): number => errorCodes[code]);
  const statuses = new Set([...Object.keys(answers).map(Number), ...codes.keys()]);
  const responses = [...statuses].toSorted().map((status): [number, object] => {
    const those = codes.get(status);
    const problem = those && problems.of(status, those, hasPages);
    const view = answers[status];
    if (view === undefined) return [status, problem === undefined ? {} : problems.add(status, problem)];
    const answer = {
      description: [words[status] ?? "Done.", problem?.description].filter((part) => part !== undefined).join(" "),
      ...(status === 201 && { headers: { location: { schema: { ...text, format: "uri-reference" } } } }),
      content: {
        ...problem?.content,
        "application/json": { schema: typed?.views?.[view] ?? ref(view) },
        ...(hasPages && { "text/html": { schema: text } }),
        ...(view === "AnyValue" && { "*/*": { schema: anything } }),
      },
    };
    return [status, answer];
  });
  const whatever = { description: "What the code of the webhook answers." };
  return { ...Object.fromEntries(responses), ...(route.path.startsWith("/webhooks/") && { default: whatever }) };
}

const words: Readonly<Record<number, string>> = {
  200: "Done.",
  201: "Created.",
  202: "Accepted.",
  422: "Refused.",
  503: "Not now.",
};

/** An API key with all of these scopes; or nothing, where none is needed. */
function securityOf({ scope, scopeToWait }: Route, canWait: boolean): readonly object[] {
  if (scope === undefined) return [];
  const needed = [scope].flat();
  const more = canWait && scopeToWait !== undefined ? [{ apiKey: [...needed, scopeToWait] }] : [];
  return [{ apiKey: needed }, ...more];
}

const scopeWords: Readonly<Record<Scope, string>> = {
  start: "start runs",
  read: "look at runs, and wait for results",
  signal: "send signals",
  callbacks: "answer callbacks",
  export: "take a run with its history elsewhere",
  admin: "pause, cancel, repair and delete runs, and see stacks of errors. It does not include the others",
};

/** How a request says who it is, and what each scope is for. */
export const securitySchemes = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    description: [
      "An API key (`layover keys create`), as `Authorization: Bearer lok_…`. It needs the scopes that an operation names:",
      ...scopes.map((scope) => `- \`${scope}\`: ${scopeWords[scope]}`),
    ].join("\n"),
  },
};

function tagOf(path: string): string {
  if (path.startsWith("/callbacks/") || path.includes("/callbacks/")) return "callbacks";
  if (path.includes("/deliveries") || path.startsWith("/webhooks/")) return "webhooks";
  if (/\/(pause|resume|cancel|terminate|retry|restart|fork)$|wake$/.test(path)) return "operations";
  return path.startsWith("/v1/") ? "runs" : "server";
}
