/** Walks over the values of a json by its shape, and makes a copy with others in their place. */
import type { Kind, Shape } from "./shapes.ts";

/** One value that the walk has met. */
export interface Met {
  readonly text: string;
  /** `ending`: the record that says how a run ends. Its field `error`, and those of `owed`, are values. SQL reads the other fields. */
  readonly kind: Kind | "same" | "ending";
  readonly scope: string;
  /** The digest of what was sent, if a schema made something else of it (`text`). For `same` alone. */
  readonly sent?: unknown;
  /** Which element of `turns` it belongs to. */
  readonly turn: number | undefined;
  /** The run that it belongs to, where the call or the answer names it. */
  readonly runId?: string | undefined;
}

/** The kinds of values that a turn takes into its history. */
export const mail: ReadonlySet<Met["kind"]> = new Set(["signal", "callback", "end"]);

/** Answers what comes in the place of a value, or the promise of it. Undefined: the value stays. */
type Visit = (met: Met) => unknown;

type Fields = Readonly<Record<string, unknown>>;

/** An object around a value. Its fields may say to which run and place the value belongs. */
interface Around {
  readonly fields: Fields;
  /** The object of the call that is answered by this one. */
  readonly beside: Fields;
  readonly turn: number | undefined;
  readonly above: Around | undefined;
}

const none: Fields = {};
const top: Around = { fields: none, beside: none, turn: undefined, above: undefined };

/**
 * Has the values of a json replaced, all at once. Of what stays no copy is made.
 *
 * `beside`: the call that is answered. Its fields name the runs of the elements that are answered.
 */
export async function replaced<Json>(json: Json, shape: Shape, visit: Visit, beside?: unknown): Promise<Json> {
  const walk = new Walk(visit);
  const copy = walk.over(json, shape, beside, top);
  if (walk.promised.length > 0) await Promise.all(walk.promised);
  return copy as Json; // the shape of what was walked over
}

type ObjectShape = Extract<Shape, { readonly [field: string]: Shape }>;

class Walk {
  /** All of them resolve when each value is in its place. */
  readonly promised: Promise<void>[] = [];
  readonly #visit: Visit;

  constructor(visit: Visit) {
    this.#visit = visit;
  }

  /** Answers what comes in the place of the node: the node itself if all of it stays. */
  over(node: unknown, shape: Shape, beside: unknown, around: Around): unknown {
    if (shape === "tuple") return Array.isArray(node) ? this.#tuple(node, around) : node;
    if (typeof shape === "string") return this.#text(node, shape, around);
    if (isList(shape)) return Array.isArray(node) ? this.#list(node, shape[0], beside, around) : node;
    return isFields(node) ? this.#fields(node, shape, beside, around) : node;
  }

  #fields(node: Fields, shape: ObjectShape, beside: unknown, above: Around): unknown {
    const around = { fields: node, beside: isFields(beside) ? beside : none, turn: above.turn, above };
    let copy: Record<string, unknown> | undefined;
    const replace = (name: string, inner: Shape) => {
      const before = node[name];
      const after = inner === "same" ? this.#same(node, before) : this.over(before, inner, around.beside[name], around);
      if (after === before) return;
      copy ??= { ...node };
      this.#put(copy, name, after);
    };
    for (const field in shape) {
      const inner = shape[field];
      if (inner === undefined) continue;
      if (field === "*") for (const name of Object.keys(node)) replace(name, inner);
      else replace(field, inner);
    }
    return copy ?? node;
  }

  #list(nodes: readonly unknown[], shape: Shape, beside: unknown, above: Around): unknown {
    const besides: readonly unknown[] = Array.isArray(beside) ? beside : [];
    let copy: unknown[] | undefined;
    for (const [index, before] of nodes.entries()) {
      const around = above.turn === undefined ? { ...top, turn: index, above } : above;
      const after = this.over(before, shape, besides[index], around);
      if (after === before) continue;
      copy ??= [...nodes];
      this.#put(copy, index, after);
    }
    return copy ?? nodes;
  }

  #tuple(record: readonly unknown[], above: Around): unknown {
    const [kind, path, occurrence] = record;
    const around = { fields: { kind, path, occurrence }, beside: none, turn: above.turn, above };
    const before = record[4];
    const after = this.#text(before, "record", around);
    if (after === before) return record;
    const copy = [...record];
    this.#put(copy, 4, after);
    return copy;
  }

  #put(copy: object, name: PropertyKey, made: unknown): void {
    if (made instanceof Promise) this.promised.push(made.then((value) => this.#put(copy, name, value)));
    else Reflect.set(copy, name, made);
  }

  #text(node: unknown, shape: Kind | "outcome" | "same", around: Around): unknown {
    if (typeof node !== "string" || shape === "same") return node;
    const record = named(around, "kind");
    // Whether a name of signals could be closed, which SQL reads.
    if (shape === "record" && record === "close") return node;
    const kind = kindOf(shape, record, named(around, "next"));
    const runId = named(around, "runId");
    const met = {
      text: node,
      kind,
      turn: around.turn,
      scope: scopeOf(kind, around),
      runId: typeof runId === "string" ? runId : undefined,
    };
    return this.#visit(met) ?? node;
  }

  /** `sent`: the digest of what was sent, if any, which the MAC replaces. */
  #same({ encodedInput, value }: Fields, sent: unknown): unknown {
    const stored = encodedInput ?? value;
    if (typeof stored !== "string") return sent;
    return this.#visit({ text: stored, kind: "same", scope: "", sent, turn: undefined }) ?? sent;
  }
}

function isList(shape: Exclude<Shape, string>): shape is readonly [Shape] {
  return Array.isArray(shape);
}

/** Answers what the nearest object around a value says. */
function named(around: Around, name: "runId" | "path" | "occurrence" | "kind" | "next" | "webhook"): unknown {
  for (let at: Around | undefined = around; at !== undefined; at = at.above) {
    const value = at.fields[name] ?? at.beside[name];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function scopeOf(kind: Met["kind"], around: Around): string {
  switch (kind) {
    case "callback":
    case "status":
      return `run ${String(named(around, "runId"))}`;
    case "record":
    case "attempt":
      return `${String(named(around, "path"))}#${String(named(around, "occurrence"))}`;
    case "json":
      return String(named(around, "webhook"));
    default:
      return "";
  }
}

function kindOf(shape: Kind | "outcome", record: unknown, next: unknown): Met["kind"] {
  if (shape === "outcome") return next === "blocked" ? "why" : "end";
  if (shape !== "record") return shape;
  if (record === "ending") return "ending";
  // A run's cancel is written into its history by SQL, with the reason of the person who asked for it.
  return record === "cancellation" || record === "closing" ? "reason" : "record";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tells the engine that a claimed run has mail which cannot be read. In a list of runs or records, which are no turns, the value says so. */
export function noteUnreadable(answer: unknown, turn: number, why: string): void {
  const { turns } = answer as { turns?: Record<string, unknown>[] }; // that of claim_turns or finish_turns is copied above
  const element = turns?.[turn];
  const claim = element?.["claim"] ?? element;
  if (typeof claim === "object" && claim !== null) Object.assign(claim, { unreadable: why });
}
