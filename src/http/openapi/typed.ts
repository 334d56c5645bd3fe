/**
 * The operations of each contract, typed by its schemas. They are the routes whose path names a workflow, a signal or a
 * callback, with that name in its place. So a generated client knows what to give to `startOrder`, and what the result of
 * an order is. The route with a parameter stays beside them, for programs that learn the name only when they run.
 */
import type { Contract } from "../../core/contract/contract.ts";
import type { Schema } from "../../core/contract/schema.ts";
import type { Description } from "../description.ts";
import type { Fields } from "../fields.ts";
import { bodySchema } from "./bodies.ts";
import { type Components, wordsOf } from "./components.ts";
import { jsonSchemaOf, mayBeMissing } from "./contract-schema.ts";
import type { Typed } from "./operation.ts";
import { described, integer, type JsonSchema } from "./schema.ts";
import { views } from "./views.ts";

/** A version of a workflow, with its schemas as components. */
interface Version {
  readonly contract: Contract;
  readonly isNewest: boolean;
  readonly input: JsonSchema | undefined;
  /** What the input's schema makes of it. */
  readonly parsedInput: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly status: JsonSchema | undefined;
  readonly signals: ReadonlyMap<string, JsonSchema>;
  readonly callbacks: ReadonlyMap<string, JsonSchema>;
}

export class TypedOperations {
  readonly #components: Components;
  /** The versions of each workflow, newest first. */
  readonly #workflows: ReadonlyMap<string, readonly Version[]>;

  constructor(contracts: readonly Contract[], components: Components) {
    this.#components = components;
    const newestFirst = contracts.toSorted((one, other) => other.version - one.version);
    const byName = Map.groupBy(newestFirst, ({ name }) => name);
    this.#workflows = new Map(
      [...byName].map(([name, versions]) => [
        name,
        versions.map((contract, index) =>
          this.#versionOf(contract, { isNewest: index === 0, isOnly: versions.length === 1 }),
        ),
      ]),
    );
  }

  /** The typed operations of a route, by the id of its general one. */
  of({ id, body }: Description): readonly Typed[] {
    const fields = typeof body === "object" ? body : {};
    const workflows = [...this.#workflows];
    switch (id) {
      case "startRun":
        return workflows.map(([name, versions]) => this.#start(name, versions, fields));
      case "getRunById":
        return workflows.map(([name, versions]) => this.#get(name, versions));
      case "signalById":
        return workflows.flatMap(([name, versions]) =>
          namesIn(versions, "signals").map((signal) => this.#signalById(name, versions, { signal, fields })),
        );
      case "signalWithStart":
        return workflows.flatMap(([name, versions]) =>
          namesIn(versions, "signals").map((signal) => this.#signalWithStart(name, versions, { signal, fields })),
        );
      case "signal":
        return namesIn(this.#all(), "signals").map((signal) => ({
          id: this.#components.unique(`signal${wordsOf(signal)}`),
          does: `Sends the signal ${signal} to a run.`,
          values: { signal },
          ...this.#payload(this.#all(), signal, fields),
        }));
      case "resolveCallback":
        return namesIn(this.#all(), "callbacks").map((name) => ({
          id: this.#components.unique(`resolve${wordsOf(name)}`),
          does: `Answers the callback ${name} of a run. The body is the answer.`,
          values: { name },
          body: either(schemasOf(this.#all(), "callbacks", name)),
          isBodyRequired: true,
        }));
      default:
        return [];
    }
  }

  #all(): readonly Version[] {
    return [...this.#workflows.values()].flat();
  }

  #versionOf(
    contract: Contract,
    { isNewest, isOnly }: { readonly isNewest: boolean; readonly isOnly: boolean },
  ): Version {
    const { name, version, input, output, status, signals, callbacks } = contract;
    const title = isOnly ? wordsOf(name) : `${wordsOf(name)}V${version}`;
    const add = (part: string, schema: Schema, way: "input" | "output") =>
      this.#components.add(`${title}${part}`, jsonSchemaOf(schema, way));
    const addEach = (kind: string, schemas: Readonly<Record<string, Schema>>) =>
      new Map(Object.entries(schemas).map(([each, schema]) => [each, add(`${wordsOf(each)}${kind}`, schema, "input")]));
    const isAlike = input !== undefined && isEqual(jsonSchemaOf(input, "input"), jsonSchemaOf(input, "output"));
    const given = input && add("Input", input, "input");
    return {
      contract,
      isNewest,
      input: given,
      parsedInput: input && (isAlike ? given : add("ParsedInput", input, "output")),
      output: output && add("Output", output, "output"),
      status: status && add("Status", status, "output"),
      signals: addEach("Signal", signals),
      callbacks: addEach("Callback", callbacks),
    };
  }

  #start(name: string, versions: readonly Version[], fields: Fields): Typed {
    return {
      id: this.#components.unique(`start${wordsOf(name)}`),
      does: `Starts a run of ${name}. Sent again with the same id and input, it answers the run that is there.`,
      values: { name },
      body: either(versions.map((version) => startBody(version, fields, []))),
      isBodyRequired: versions.every((version) => requiredOf(version).length > 0),
      views: { Started: this.#eachOf("Started", versions) },
    };
  }

  #get(name: string, versions: readonly Version[]): Typed {
    return {
      id: this.#components.unique(`get${wordsOf(name)}`),
      does: `Answers the run of ${name} that has this id of yours.`,
      values: { name },
      views: { Run: this.#eachOf("Run", versions) },
    };
  }

  /** The view of a run of one of these versions. */
  #eachOf(view: "Started" | "Run", versions: readonly Version[]): JsonSchema {
    return either(
      versions.map((version) => this.#components.add(`${titleOf(version, versions)}${view}`, narrowed(view, version))),
    );
  }

  #signalById(name: string, versions: readonly Version[], { signal, fields }: SignalTerms): Typed {
    return {
      id: this.#components.unique(`signal${wordsOf(name)}${wordsOf(signal)}`),
      does: `Sends the signal ${signal} to the run of ${name} that has this id of yours.`,
      values: { name, signal },
      ...this.#payload(versions, signal, fields),
    };
  }

  #signalWithStart(name: string, versions: readonly Version[], { signal, fields }: SignalTerms): Typed {
    const taking = versions.filter(({ signals }) => signals.has(signal));
    const bodies = taking.map((version) => {
      const payload = version.signals.get(signal);
      const isRequired = payloadIsRequired(version, signal);
      return withProperties(startBody(version, fields, isRequired ? ["payload"] : []), { payload });
    });
    return {
      id: this.#components.unique(`signalOrStart${wordsOf(name)}${wordsOf(signal)}`),
      does: `Sends the signal ${signal} to the run of ${name} of that id, which is started first unless it is there.`,
      values: { name, signal },
      body: either(bodies),
      isBodyRequired: true,
    };
  }

  #payload(versions: readonly Version[], signal: string, fields: Fields): Pick<Typed, "body" | "isBodyRequired"> {
    const taking = versions.filter(({ signals }) => signals.has(signal));
    const isRequired = taking.every((version) => payloadIsRequired(version, signal));
    const payload = either(schemasOf(taking, "signals", signal));
    return {
      body: withProperties(bodySchema(fields, isRequired ? ["payload"] : []), { payload }),
      isBodyRequired: isRequired,
    };
  }
}

interface SignalTerms {
  readonly signal: string;
  readonly fields: Fields;
}

function namesIn(versions: readonly Version[], which: "signals" | "callbacks"): readonly string[] {
  return [...new Set(versions.flatMap((version) => [...version[which].keys()]))];
}

function schemasOf(versions: readonly Version[], which: "signals" | "callbacks", name: string): readonly JsonSchema[] {
  return versions.map((version) => version[which].get(name)).filter((schema) => schema !== undefined);
}

function titleOf({ contract: { name, version } }: Version, versions: readonly Version[]): string {
  return versions.length === 1 ? wordsOf(name) : `${wordsOf(name)}V${version}`;
}

/** The body of a start of this version. Only the newest may be left unnamed. */
function startBody(version: Version, fields: Fields, required: readonly string[]): JsonSchema {
  const { input = { type: "null" }, contract } = version;
  return withProperties(bodySchema(fields, [...requiredOf(version), ...required]), {
    input,
    version: { type: "integer", enum: [contract.version] },
  });
}

function requiredOf({ contract: { input }, isNewest }: Version): readonly string[] {
  const needsInput = input !== undefined && !mayBeMissing(input);
  return [...(needsInput ? ["input"] : []), ...(isNewest ? [] : ["version"])];
}

function payloadIsRequired({ contract: { signals } }: Version, signal: string): boolean {
  const schema = signals[signal];
  return schema !== undefined && !mayBeMissing(schema);
}

const otherVersions = "A run of a version that is no longer deployed may hold something else.";

/** A view of a run of this version. The newest stands for those that are gone, too. */
function narrowed(
  view: "Started" | "Run",
  { contract, isNewest, output: result, status: customStatus, parsedInput: input }: Version,
): JsonSchema {
  return withProperties(views[view], {
    workflow: { type: "string", enum: [contract.name] },
    version: isNewest ? described(otherVersions, integer) : { type: "integer", enum: [contract.version] },
    result,
    ...(view === "Run" && { customStatus, input }),
  });
}

/** The schema of an object, some of whose properties are told more exactly. */
function withProperties(schema: JsonSchema, properties: Readonly<Record<string, JsonSchema | undefined>>): JsonSchema {
  const known = Object.entries(properties).filter(([, property]) => property !== undefined);
  return { ...schema, properties: { ...Object(schema["properties"]), ...Object.fromEntries(known) } };
}

function either(schemas: readonly JsonSchema[]): JsonSchema {
  const [only, ...others] = schemas.filter((one, at) => schemas.findIndex((other) => isEqual(one, other)) === at);
  return only !== undefined && others.length === 0 ? only : { anyOf: [only, ...others] };
}

function isEqual(one: JsonSchema, other: JsonSchema): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
