/** Compares what was expected with what was said. What is not expected by name is not looked at. */

class AnyOf {
  readonly choices: readonly unknown[];
  constructor(choices: readonly unknown[]) {
    this.choices = choices;
  }
}
class InAnyOrder {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}

export function anyOf(...choices: readonly unknown[]): object {
  return choices.length === 1 ? (choices[0] as object) : new AnyOf(choices);
}

export function inAnyOrder(items: readonly unknown[]): object {
  return new InAnyOrder(items);
}

/** Where the two differ, in words; undefined: nowhere. */
export function difference(expected: unknown, actual: unknown, at = ""): string | undefined {
  if (expected instanceof AnyOf) {
    const isMet = expected.choices.some((choice) => difference(choice, actual) === undefined);
    return isMet ? undefined : `${at}: expected one of ${text(expected.choices)}, got ${text(actual)}`;
  }
  if (expected instanceof InAnyOrder) {
    if (!Array.isArray(actual)) return `${at}: expected ${text(expected.items)}, got ${text(actual)}`;
    return difference(sorted(expected.items), sorted(actual), at);
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    }
    return first(expected.keys(), (index) => difference(expected[index], actual[index], `${at}[${index}]`));
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return `${at}: expected ${text(expected)}, got ${text(actual)}`;
    return first(Object.keys(expected), (key) => difference(expected[key], actual[key], at ? `${at}.${key}` : key));
  }
  return expected === actual ? undefined : `${at}: expected ${text(expected)}, got ${text(actual)}`;
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

/** By place: the lists whose order means nothing are of things at places. */
function sorted(items: readonly unknown[]): unknown[] {
  const key = (item: unknown) => (isObject(item) ? `${item["path"]}#${item["occurrence"]}` : String(item));
  return [...items].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

export function text(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner instanceof AnyOf ? { anyOf: inner.choices } : inner instanceof InAnyOrder ? inner.items : inner,
  );
}
