/** Reads a field of a package.json that maps names to texts: scripts, dependencies. */
type Texts = Readonly<Record<string, string>>;

/** Nothing, if there is no such field. @throws TypeError if the field holds something else */
export function textsIn(content: Readonly<Record<string, unknown>>, field: string): Texts {
  const value = content[field] ?? {};
  if (isTexts(value)) return value;
  throw new TypeError(`"${field}" is no object that holds texts.`);
}

function isTexts(value: unknown): value is Texts {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((text) => typeof text === "string");
}
