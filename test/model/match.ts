/** Compares what was expected with what was said. Keys that are not expected are not looked at. */

/** A choice of several values. It is a plain object, so that an expectation may be copied. */
interface AnyOf {
  readonly anyOf: readonly unknown[];
}
interface InAnyOrder {
  readonly inAnyOrder: readonly unknown[];
}

export function anyOf(...choices: readonly unknown[]): unknown {
  return choices.length === 1 ? choices[0] : ({ anyOf: choices } satisfies AnyOf);
}

export function inAnyOrder(items: readonly unknown[]): unknown {
  return { inAnyOrder: items } satisfies InAnyOrder;
}

/** Says where the two differ, in words; undefined: nowhere. */
export function difference(expected: unknown, actual: unknown, at = ""): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    }
    return first(expected.keys(), (index) => difference(expected[index], actual[index], `${at}[${index}]`));
  }
  if (isAnyOf(expected)) {
    const isMet = expected.anyOf.some((choice) => difference(choice, actual) === undefined);
    return isMet ? undefined : `${at}: expected one of ${text(expected.anyOf)}, got ${text(actual)}`;
  }
  if (isInAnyOrder(expected)) {
    const { inAnyOrder: items } = expected;
    if (!Array.isArray(actual)) return `${at}: expected ${text(items)}, got ${text(actual)}`;
    return difference(sorted(items), sorted(actual), at);
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    return first(Object.keys(expected), (key) => difference(expected[key], actual[key], at ? `${at}.${key}` : key));
  }
  const isMet = expected === actual || (isNothing(expected) && isNothing(actual));
  return isMet ? undefined : `${at}: expected ${text(expected)}, got ${text(actual)}`;
}

/** Tells whether an answer may leave the value out: it is null, undefined or false. */
function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === false;
}

function isAnyOf(value: unknown): value is AnyOf {
  return isObject(value) && "anyOf" in value;
}

function isInAnyOrder(value: unknown): value is InAnyOrder {
  return isObject(value) && "inAnyOrder" in value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function first<Item>(items: Iterable<Item>, look: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const found = look(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Sorts items by their place. All lists whose order means nothing are of things at places. */
function sorted(items: readonly unknown[]): unknown[] {
  const key = (item: unknown) => (isObject(item) ? `${item["path"]}#${item["occurrence"]}` : String(item));
  return [...items].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

export function text(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}
