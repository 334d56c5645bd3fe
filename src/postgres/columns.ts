/**
 * How columns come out of every adapter, whatever its driver or the user's own settings make of them: `json` parsed,
 * booleans and numbers that JavaScript holds exactly as themselves, everything else as the text that Postgres writes.
 */

type Parser = (text: string) => unknown;

const asText: Parser = (text) => text;

/**
 * The parsers, by the type's oid. Types that drivers are known to convert are named, so that drivers leave them alone.
 */
export const parsers: Readonly<Record<number, Parser>> = {
  16: (text) => text === "t", // bool
  17: asText, // bytea
  20: asText, // int8
  21: Number, // int2
  23: Number, // int4
  26: Number, // oid
  114: (text) => JSON.parse(text), // json
  700: Number, // float4
  701: Number, // float8
  1082: asText, // date
  1114: asText, // timestamp
  1184: asText, // timestamptz
  3802: (text) => JSON.parse(text), // jsonb
};

export function parserOf(typeOid: number): Parser {
  return parsers[typeOid] ?? asText;
}
