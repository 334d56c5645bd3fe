/**
 * Reads tagged JSON (see codec.ts). Parsed JSON without a tag is the value itself, and most of it has none;
 * otherwise the tags in what was parsed are replaced, innermost first.
 */

import { classCodec } from "./classes.ts";
import { isRecord, record, text } from "./tag-checks.ts";

/** Throws whatever is wrong with the text; also a bigint of more than `longestBigint` characters. */
export function readTagged(json: string, longestBigint: number): unknown {
  const parsed: unknown = JSON.parse(json);
  return json.includes('"$"') ? replaceTags(parsed, longestBigint) : parsed;
}

/** Replaces tags. It does not recurse, since a text may be nested deeper than the stack is. */
function replaceTags(parsed: unknown, longestBigint: number): unknown {
  const root = { value: parsed };
  const places: [holder: Record<string, unknown>, key: string][] = [[root, "value"]];
  for (const [holder, key] of places) {
    const value = holder[key];
    if (!isRecord(value)) continue;
    const escaped = value["$"] === "Object" ? value["v"] : undefined;
    const content = isRecord(escaped) ? escaped : value;
    for (const inner of Object.keys(content)) if (isRecord(content[inner])) places.push([content, inner]);
  }
  for (const [holder, key] of places.reverse()) {
    const value = holder[key];
    // Safe also for the key `__proto__`: it is the holder's own already, so no setter runs.
    if (isRecord(value) && Object.hasOwn(value, "$")) holder[key] = untag(value["$"], value["v"], longestBigint);
  }
  return root.value;
}

function untag(name: unknown, v: unknown, longestBigint: number): unknown {
  switch (name) {
    case "undefined":
      return undefined;
    case "number":
      return Number(text(v));
    case "bigint":
      return toBigint(text(v), longestBigint);
    case "Object":
      return record(v);
    default: {
      const codec = classCodec(text(name));
      if (codec === undefined) throw new TypeError(`the tag ${JSON.stringify(name)} is unknown`);
      return codec.putTogether(v);
    }
  }
}

function toBigint(digits: string, longest: number): bigint {
  if (digits.length <= longest) return BigInt(digits);
  throw new RangeError(`a bigint of ${digits.length} characters is longer than ${longest}`);
}
