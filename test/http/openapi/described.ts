/**
 * Checks answers against the OpenAPI document: a route, a status, a type of content or a field that it does not know is an
 * error. Every app of a test is made here, and so every answer of every test is checked.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { Hono } from "hono";
import { problemType, valueType } from "../../../src/client/over-http/media-type.ts";
import { unsealed } from "../../../src/client/over-http/sealed-view.ts";
import { decode } from "../../../src/core/codec/codec.ts";
import { isRecord } from "../../../src/core/codec/tag-checks.ts";
import { type AppOptions, createApp } from "../../../src/http/app.ts";
import { type OpenApiDocument, openApiDocument } from "../../../src/http/openapi/document.ts";
import { openapi } from "../../../src/http/openapi/index.ts";
import type { DocumentTerms } from "../../../src/http/openapi/mount.ts";
import { toJson } from "../../../src/http/plain-json.ts";

interface Checking {
  readonly prefix?: string;
  /** Whether requests are made at random, so that they may hold what is not described, and is passed over. */
  readonly sendsAnything?: boolean;
}

/** An app whose answers are checked, and that has its document. */
export function aDescribedApp(options: AppOptions, { prefix = "", sendsAnything = false }: Checking = {}): Hono {
  let terms: DocumentTerms | undefined;
  const mount = options.openapi ?? openapi();
  const face = createApp({
    ...options,
    openapi: (given) => {
      const route = mount(given);
      terms = { ...given, routes: [...given.routes, route] };
      return route;
    },
  });
  const app = prefix === "" ? face : new Hono().route(prefix, face);
  let document: CheckedDocument | undefined;
  const { fetch, request } = app;
  const bodies = new WeakMap<Request, string>();
  app.request = (input, init, ...more) => {
    const address = /^https?:/.test(String(input)) ? String(input) : `http://localhost${input}`;
    const asked = input instanceof Request ? input : new Request(address, init);
    if (typeof init?.body === "string") bodies.set(asked, init.body);
    return request.call(app, asked, undefined, ...more);
  };
  app.fetch = async (asked, ...more) => {
    const response = await fetch(asked, ...more);
    const exchange = { request: asked, body: bodies.get(asked), response: response.clone(), prefix, sendsAnything };
    document ??= terms && documentOf(terms);
    await document?.check(exchange);
    return response;
  };
  return app;
}

interface Exchange {
  readonly request: Request;
  /** Undefined: nobody knows what it was. */
  readonly body: string | undefined;
  readonly response: Response;
  readonly prefix: string;
  readonly sendsAnything: boolean;
}

const documents = new Map<string, CheckedDocument>();

/** Equal documents are made ready once. */
function documentOf(terms: DocumentTerms): CheckedDocument {
  const text = JSON.stringify(openApiDocument(terms));
  const document = documents.get(text) ?? new CheckedDocument(JSON.parse(text));
  documents.set(text, document);
  return document;
}

/** The codes with which an app answers what the document does not have. */
const strangerCodes = ["not_found", "method_not_allowed", "unknown_workflow", "unauthorized", "forbidden"];

export class CheckedDocument {
  readonly #document: OpenApiDocument;
  readonly #open = anAjv();
  /** The same, but no object of an answer may have a field that is not described. */
  readonly #closed = anAjv();
  /** Paths without parameters come first: they are meant where both fit. */
  readonly #paths: readonly { readonly path: string; readonly pattern: RegExp }[];

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#open.addSchema(document, "document");
    this.#closed.addSchema(closed(document), "document");
    const parameters = (path: string) => path.split("{").length;
    this.#paths = Object.keys(document.paths)
      .toSorted((one, other) => parameters(one) - parameters(other))
      .map((path) => ({ path, pattern: patternOf(path) }));
  }

  /** @throws Error for an answer that is not described */
  async check({ request, body, response, prefix, sendsAnything }: Exchange): Promise<void> {
    const { method } = request;
    const { pathname, searchParams } = new URL(request.url);
    const verb = method === "HEAD" ? "get" : method.toLowerCase();
    const asked = pathname.slice(prefix.length);
    const path = this.#paths.find(({ pattern }) => pattern.test(asked))?.path;
    const operation = path === undefined ? undefined : this.#document.paths[path]?.[verb];
    const answer = await contentOf(response);
    const what = `${response.status} to ${method} ${asked}`;
    if (asked.startsWith("/dashboard")) return; // pages for people, which are no part of the API
    if (path === undefined || !isRecord(operation)) {
      const code = String(Reflect.get(Object(answer?.value), "code"));
      const isStranger = answer?.type === problemType && strangerCodes.includes(code);
      const isBare = (method === "HEAD" || method === "OPTIONS") && answer === undefined;
      if (!isStranger && !isBare) throw new Error(`the document has no operation for ${what}`);
      return;
    }
    const place = ["paths", path, verb];
    this.#checkAnswer(answer, [...place, "responses"], response.status, what);
    if (response.ok && method !== "HEAD" && !sendsAnything) {
      // What a sender asks is the sender's own.
      if (!asked.startsWith("/webhooks/")) this.#checkQuery(operation, searchParams, what);
      if (body !== undefined) this.#checkBody(request.headers, body, [...place, "requestBody", "content"], what);
    }
  }

  #checkAnswer(answer: Content | undefined, responses: readonly string[], status: number, what: string): void {
    const known = Object(this.#at(responses));
    const place = this.#followed([...responses, Object.hasOwn(known, String(status)) ? String(status) : "default"]);
    const described = this.#at(place);
    if (!isRecord(described)) throw new Error(`the status of ${what} is not described`);
    if (answer === undefined || described["content"] === undefined) return; // HEAD, or whatever the code of a webhook answers
    const content = Object(described["content"]);
    const type = Object.hasOwn(content, answer.type) ? answer.type : "*/*";
    if (!Object.hasOwn(content, type)) throw new Error(`the type ${answer.type} of ${what} is not described`);
    checkBy(this.#closed, [...place, "content", type, "schema"], answer.value, what);
  }

  #checkQuery(operation: Record<string, unknown>, given: URLSearchParams, what: string): void {
    const parameters: readonly unknown[] = Array.isArray(operation["parameters"]) ? operation["parameters"] : [];
    const names = parameters
      .filter((one) => isRecord(one) && one["in"] === "query")
      .map((one) => Reflect.get(Object(one), "name"));
    const unknown = [...given.keys()].find((name) => !names.includes(name));
    if (unknown !== undefined) throw new Error(`the parameter ${unknown} of the query is not described: ${what}`);
  }

  #checkBody(headers: Headers, text: string, place: readonly string[], what: string): void {
    const isJson = /^application\/json/.test(headers.get("content-type") ?? "");
    if (!isJson || text === "" || this.#at(place) === undefined) return;
    const type = Object.hasOwn(Object(this.#at(place)), "application/json") ? "application/json" : "*/*";
    checkBy(this.#open, [...place, type, "schema"], JSON.parse(text), `the request of ${what}`);
  }

  #at(place: readonly string[]): unknown {
    return place.reduce((value: unknown, key) => Reflect.get(Object(value), key), this.#document);
  }

  /** A response may be one of the components. */
  #followed(place: readonly string[]): readonly string[] {
    const target: unknown = Reflect.get(Object(this.#at(place)), "$ref");
    return typeof target === "string" ? target.split("/").slice(1) : place;
  }
}

function anAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
  addFormats.default(ajv);
  return ajv;
}

function checkBy(ajv: Ajv2020, place: readonly string[], value: unknown, what: string): void {
  const pointer = place.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate: ValidateFunction | undefined = ajv.getSchema(`document#/${pointer}`);
  if (validate === undefined) throw new Error(`the document has nothing at ${pointer}`);
  if (validate(value) === true) return;
  const errors = ajv.errorsText(validate.errors, { separator: "\n" });
  const extra = (validate.errors ?? []).map(({ params }) => JSON.stringify(params)).join(" ");
  throw new Error(
    `${what} is not as the document says:\n${errors}\n${extra}\n${JSON.stringify(value).slice(0, 2_000)}`,
  );
}

interface Content {
  readonly type: string;
  /** As plain JSON. */
  readonly value: unknown;
}

/** Undefined: there is no body. */
async function contentOf(response: Response): Promise<Content | undefined> {
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  const text = await response.text();
  if (text === "") return undefined;
  if (type === valueType) {
    const view = unsealed(decode(text, { what: "the answer" }));
    return { type: "application/json", value: toJson(view) ?? null };
  }
  return { type, value: type.endsWith("json") ? JSON.parse(text) : text };
}

/** `/v1/runs/{id}` as a pattern. A path in a document may hold `%2F` and the like, as requests do. */
function patternOf(path: string): RegExp {
  const parts = path.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^/]+")}/?$`);
}

/** The document, with no further fields in its objects. (Those of an `allOf` describe one object together.) */
function closed(value: unknown, isPart = false): object {
  if (!isRecord(value)) throw new TypeError("it is no object");
  const entries = Object.entries(value).map(([key, part]): [string, unknown] => {
    if (Array.isArray(part)) return [key, part.map((item) => (isRecord(item) ? closed(item, key === "allOf") : item))];
    return [key, isRecord(part) ? closed(part) : part];
  });
  const isOpen =
    isRecord(value["properties"]) && value["type"] === "object" && value["additionalProperties"] === undefined;
  return { ...Object.fromEntries(entries), ...(isOpen && !isPart && { additionalProperties: false }) };
}
