/**
 * The schemas that a document names, under `#/components/schemas`. A schema of a contract may refer to itself and to
 * parts of itself (`#`, `#/$defs/Item`). Such parts become components of their own, since a reference means the whole
 * document there.
 */
import { isRecord } from "../../core/codec/tag-checks.ts";
import { toJson } from "../plain-json.ts";
import { type JsonSchema, ref } from "./schema.ts";

export class Components {
  readonly #schemas = new Map<string, JsonSchema>();
  readonly #names = new Set<string>();

  /** Adds a schema by this very name. */
  set(name: string, schema: JsonSchema): void {
    this.#names.add(name);
    this.#schemas.set(name, schema);
  }

  /** Adds a schema by a name like this one, and answers how to refer to it. */
  add(name: string, schema: JsonSchema): JsonSchema {
    const own = this.unique(name);
    this.#put(own, schema);
    return ref(own);
  }

  /** A name that nothing else has: this one, or with a number. Operations have such names, too. */
  unique(name: string): string {
    let own = name;
    for (let number = 2; this.#names.has(own); number += 1) own = `${name}${number}`;
    this.#names.add(own);
    return own;
  }

  /** All schemas, in the order in which they were added. */
  all(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(this.#schemas);
  }

  #put(own: string, { $defs, ...schema }: JsonSchema): void {
    const names = new Map([["#", own]]);
    const parts = isRecord($defs) ? Object.entries($defs) : [];
    for (const [part] of parts) names.set(`#/$defs/${part}`, this.unique(`${own}${wordsOf(part)}`));
    this.#schemas.set(own, relocated(schema, names));
    for (const [part, definition] of parts) {
      const name = names.get(`#/$defs/${part}`);
      if (name !== undefined && isRecord(definition)) this.#schemas.set(name, relocated(definition, names));
    }
  }
}

/** `my flow` → `MyFlow`: what a name in a program may be. */
export function wordsOf(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  const ascii = joined.replace(/[^A-Za-z0-9]/g, (sign) => `U${sign.codePointAt(0)?.toString(16)}`);
  return /^[A-Za-z]/.test(ascii) ? ascii : `W${ascii}`;
}

/** Keywords whose value is data, and those whose value has a schema for each name. */
const ofData = ["const", "default", "enum", "examples", "required"];
const ofNames = ["properties", "patternProperties", "dependentSchemas"];
/** What a library writes and OpenAPI has no use for. */
const leftOut = ["$schema", "$id", "id", "isDate", "~standard"];

function relocated(schema: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema {
  const { $ref, ...keywords } = schema;
  const entries = Object.entries(keywords).filter(([key, value]) => value !== undefined && !leftOut.includes(key));
  const relocatedOnes = entries.map(([key, value]): [string, unknown] => {
    if (ofData.includes(key)) return [key, toJson(value)];
    if (ofNames.includes(key) && isRecord(value)) {
      const parts = Object.entries(value).map(([name, part]) => [name, partOf(part, names)]);
      return [key, Object.fromEntries(parts)];
    }
    return [key, partOf(value, names)];
  });
  const own = typeof $ref === "string" ? names.get($ref) : undefined;
  const target = own === undefined ? $ref : ref(own)["$ref"];
  return { ...(target !== undefined && { $ref: target }), ...Object.fromEntries(relocatedOnes) };
}

function partOf(part: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(part)) return part.map((item) => partOf(item, names));
  return isRecord(part) ? relocated(part, names) : part;
}
