/** Walks over the values of a json by its shape, and makes a copy with other texts in their place. */
import type { Kind, Shape } from "./shapes.ts";

/** One value that the walk has met. */
export interface Met {
  readonly text: string;
  /** `ending`: the record that says how a run ends, whose field `error` alone is a value. SQL reads its other fields. */
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

/** Begins to make what comes in its place. Undefined: it stays. */
type Visit = (met: Met) => Promise<unknown> | undefined;

type Fields = Readonly<Record<string, unknown>>;

/** A place in the copy, and the value that is being made for it. */
export interface Slot {
  /** A list or an object of the copy. */
  readonly within: Record<string | number, unknown>;
  readonly name: string | number;
  readonly made: Promise<unknown>;
}

export interface Walked {
  readonly copy: unknown;
  readonly slots: readonly Slot[];
}

/** What is known of the objects around a value. */
interface Around {
  readonly fields: Fields;
  readonly turn?: number | undefined;
}

/**
 * `beside`: the call that is answered. Its fields name the runs of the elements that are answered.
 */
export function walk(node: unknown, shape: Shape, visit: Visit, beside?: unknown): Walked {
  const slots: Slot[] = [];
  const top: Record<string, unknown> = { copy: node };
  put(top, "copy", shape, { beside, around: { fields: {} }, visit, slots });
  return { copy: top["copy"], slots };
}

type ObjectShape = Extract<Shape, { readonly [field: string]: Shape }>;

interface Place {
  readonly beside: unknown;
  readonly around: Around;
  readonly visit: Visit;
  readonly slots: Slot[];
}

/** Puts a copy in the place of what lies there. */
function put(within: Slot["within"], name: string | number, shape: Shape, place: Place): void {
  const node = within[name];
  if (typeof shape === "string") {
    const met = shape === "tuple" ? undefined : metOf(node, shape, place.around);
    if (met !== undefined) begin(within, name, met, place);
    else if (shape === "tuple" && Array.isArray(node)) within[name] = tuple(node, place);
  } else if (isList(shape)) {
    if (Array.isArray(node)) within[name] = list(node, shape[0], place);
  } else if (isFields(node)) within[name] = fields(node, shape, place);
}

function begin(within: Slot["within"], name: string | number, met: Met, { visit, slots }: Place): void {
  const made = visit(met);
  if (made !== undefined) slots.push({ within, name, made });
}

function isList(shape: Exclude<Shape, string>): shape is readonly [Shape] {
  return Array.isArray(shape);
}

/** A list is an object of its indices. */
type Listed = unknown[] & Slot["within"];

function list(nodes: readonly unknown[], shape: Shape, place: Place): unknown[] {
  const besides = Array.isArray(place.beside) ? place.beside : [];
  const copy: Listed = Object.assign([...nodes]);
  for (const index of nodes.keys()) {
    const turn = place.around.turn ?? index;
    put(copy, index, shape, { ...place, beside: besides[index], around: { ...place.around, turn } });
  }
  return copy;
}

function fields(node: Fields, shape: ObjectShape, place: Place): unknown {
  const known = isFields(place.beside) ? place.beside : {};
  const around = { ...place.around, fields: withNames(withNames(place.around.fields, known), node) };
  const copy: Record<string, unknown> = { ...node };
  for (const field in shape) {
    const inner = shape[field];
    for (const name of field === "*" ? Object.keys(node) : [field]) {
      if (inner === "same") same(copy, name, node, place);
      else if (inner !== undefined && copy[name] !== undefined)
        put(copy, name, inner, { ...place, beside: known[name], around });
    }
  }
  return copy;
}

const naming = ["runId", "path", "occurrence", "kind", "next", "webhook"] as const;

/** Adds the fields that name a run or a place. */
function withNames(before: Fields, node: Fields): Fields {
  let names: Record<string, unknown> | undefined;
  for (const name of naming) {
    const value = node[name];
    if (value === undefined || value === null) continue;
    names ??= { ...before };
    names[name] = value;
  }
  return names ?? before;
}

function same(copy: Slot["within"], name: string, node: Fields, place: Place): void {
  const stored = node["encodedInput"] ?? node["value"];
  if (typeof stored !== "string") return;
  begin(copy, name, { text: stored, kind: "same", scope: "", sent: node[name], turn: undefined }, place);
}

function tuple(record: readonly unknown[], place: Place): unknown[] {
  const [kind, path, occurrence] = record;
  const around = { ...place.around, fields: { ...place.around.fields, kind, path, occurrence } };
  const copy: Listed = Object.assign([...record]);
  put(copy, 4, "record", { ...place, around });
  return copy;
}

/** Undefined: it is no text, or one that is not sealed. */
function metOf(node: unknown, shape: Exclude<Extract<Shape, string>, "tuple">, around: Around): Met | undefined {
  if (typeof node !== "string" || shape === "same") return undefined;
  // Whether a name of signals could be closed, which SQL reads.
  if (shape === "record" && around.fields["kind"] === "close") return undefined;
  return metAt(node, shape, around);
}

function metAt(text: string, shape: Kind | "outcome", { fields: around, turn }: Around): Met {
  const kind = kindOf(shape, around["kind"], around["next"]);
  const runId = typeof around["runId"] === "string" ? around["runId"] : undefined;
  return { text, kind, turn, runId, scope: scopeOf(kind, around) };
}

function scopeOf(kind: Met["kind"], { runId, path, occurrence, webhook }: Fields): string {
  switch (kind) {
    case "callback":
    case "status":
      return `run ${String(runId)}`;
    case "record":
    case "attempt":
      return `${String(path)}#${String(occurrence)}`;
    case "json":
      return String(webhook);
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

/** Has what takes time begun at once by a walk, and puts its results in place when it is there. Undefined: the text stays. */
export async function replaced<Json>(
  json: Json,
  walking: (visit: (met: Met) => Promise<unknown> | undefined) => Walked,
  replace: (met: Met) => Promise<unknown> | undefined,
): Promise<Json> {
  const { copy, slots } = walking(replace);
  if (slots.length === 0) return json;
  const results = await Promise.all(slots.map(({ made }) => made));
  for (const [index, { within, name }] of slots.entries()) within[name] = results[index];
  return copy as Json; // the shape of what was walked over
}

/** Tells the engine that a claimed run has mail which cannot be read. */
export function noteUnreadable(answer: unknown, turn: number, why: string): void {
  const { turns } = answer as { turns: Record<string, unknown>[] }; // that of claim_turns or finish_turns, copied above
  const element = turns[turn];
  const claim = element?.["claim"] ?? element;
  if (typeof claim === "object" && claim !== null) Object.assign(claim, { unreadable: why });
}
