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
}

/** Answers what to put in its place. */
type Visit = (met: Met) => unknown;

type Fields = Readonly<Record<string, unknown>>;

/** What is known of the objects around a value. */
interface Around {
  readonly fields: Fields;
  readonly turn?: number | undefined;
}

/**
 * `beside`: the call that is answered. Its fields name the runs of the elements that are answered.
 */
export function walk(node: unknown, shape: Shape, visit: Visit, beside?: unknown): unknown {
  return step(node, shape, visit, { beside, around: { fields: {} } });
}

type ObjectShape = Extract<Shape, { readonly [field: string]: Shape }>;

interface Place {
  readonly beside: unknown;
  readonly around: Around;
}

function step(node: unknown, shape: Shape, visit: Visit, place: Place): unknown {
  if (shape === "tuple") return Array.isArray(node) ? tuple(node, visit, place.around) : node;
  if (shape === "same") return node;
  if (typeof shape === "string") return typeof node === "string" ? leaf(node, shape, visit, place.around) : node;
  if (isList(shape)) return Array.isArray(node) ? list(node, shape[0], visit, place) : node;
  return isFields(node) ? fields(node, shape, visit, place) : node;
}

function isList(shape: Exclude<Shape, string>): shape is readonly [Shape] {
  return Array.isArray(shape);
}

function list(nodes: readonly unknown[], shape: Shape, visit: Visit, { beside, around }: Place): unknown[] {
  const besides = Array.isArray(beside) ? beside : [];
  return nodes.map((node, index) => {
    const turn = around.turn ?? index;
    return step(node, shape, visit, { beside: besides[index], around: { ...around, turn } });
  });
}

function fields(node: Fields, shape: ObjectShape, visit: Visit, { beside, around }: Place): unknown {
  const known = isFields(beside) ? beside : {};
  const within = { ...around, fields: { ...around.fields, ...named(known), ...named(node) } };
  const copy: Record<string, unknown> = { ...node };
  for (const [field, inner] of Object.entries(shape)) {
    for (const name of field === "*" ? Object.keys(node) : [field]) {
      const value = node[name];
      const made =
        inner === "same"
          ? same(node, value, visit)
          : step(value, inner, visit, { beside: known[name], around: within });
      if (made !== undefined) copy[name] = made;
    }
  }
  return copy;
}

const naming = ["runId", "path", "occurrence", "kind", "next", "webhook"];

/** The fields that name a run or a place. */
function named(node: Fields): Fields {
  return Object.fromEntries(
    naming.flatMap((name) => (node[name] === undefined || node[name] === null ? [] : [[name, node[name]]])),
  );
}

function same(node: Fields, sent: unknown, visit: Visit): unknown {
  const stored = node["encodedInput"] ?? node["value"];
  return typeof stored === "string"
    ? visit({ text: stored, kind: "same", scope: "", sent, turn: undefined })
    : undefined;
}

function tuple(record: readonly unknown[], visit: Visit, around: Around): unknown[] {
  const [kind, path, occurrence, isFailure, value, ...rest] = record;
  const within = { ...around, fields: { ...around.fields, kind, path, occurrence } };
  return [
    kind,
    path,
    occurrence,
    isFailure,
    typeof value === "string" ? leaf(value, "record", visit, within) : value,
    ...rest,
  ];
}

function leaf(text: string, shape: Kind | "outcome", visit: Visit, around: Around): unknown {
  // Whether a name of signals could be closed, which SQL reads.
  if (shape === "record" && around.fields["kind"] === "close") return text;
  return visit(metAt(text, shape, around));
}

function metAt(text: string, shape: Kind | "outcome", { fields: around, turn }: Around): Met {
  const { kind: record, next, runId, path, occurrence, webhook } = around;
  const kind = kindOf(shape, record, next);
  switch (kind) {
    case "callback":
    case "status":
      return { text, kind, turn, scope: `run ${String(runId)}` };
    case "record":
    case "attempt":
      return { text, kind, turn, scope: `${String(path)}#${String(occurrence)}` };
    case "json":
      return { text, kind, turn, scope: String(webhook) };
    default:
      return { text, kind, turn, scope: "" };
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
