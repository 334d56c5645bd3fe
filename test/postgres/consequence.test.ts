import { expect, test } from "vitest";
import { QueryError } from "../../src/core/ports.ts";
import { type Consequence, consequenceOf } from "../../src/postgres/consequence.ts";

function following(sqlState: string | undefined, isRolledBack: boolean, message = "it failed"): Consequence {
  return consequenceOf(new QueryError(message, { isRolledBack, ...(sqlState !== undefined && { sqlState }) }));
}

const olderEnded = "ended with all older ones";

test.each<[string, string | undefined, boolean, Consequence["again"], Consequence["connection"]]>([
  ["a network error, or no answer in time", undefined, false, "later", olderEnded],
  ["a connection that could not be made", undefined, true, "later", olderEnded],
  ["a connection that broke", "08006", false, "later", olderEnded],
  ["a pooler that lost its server", "08P01", false, "later", olderEnded],
  ["an operator who ended the session", "57P01", false, "later", olderEnded],
  ["a server that starts or stops", "57P03", false, "later", olderEnded],
  ["a server that is read-only", "25006", true, "later", olderEnded],
  ["too many connections", "53300", true, "later", "kept"],
  ["too many connections, said at the end of a session", "53300", false, "later", "ended"],
  ["a full disk", "53100", true, "never", "kept"],
  ["a serialization failure", "40001", true, "later", "kept"],
  ["a deadlock", "40P01", true, "later", "kept"],
  ["a prepared statement that is not there", "26000", true, "unprepared", "kept"],
  ["a prepared statement that is there already", "42P05", true, "unprepared", "kept"],
  ["a wrong password", "28P01", true, "never", "ended"],
  ["a wrong password, as Neon's endpoint says it", "28P01", false, "never", "ended"],
  ["a database that does not exist", "3D000", true, "never", "ended"],
  ["a missing right", "42501", true, "never", "kept"],
  ["a bug of Postgres'", "XX000", true, "never", "kept"],
  ["a bug of Postgres' that ended the session", "XX000", false, "later", "ended"],
  ["a feature that is not supported", "0A000", true, "never", "kept"],
  ["a statement that somebody cancelled", "57014", true, "never", "kept"],
  ["a wrong isolation level", "LO001", true, "never", "kept"],
  ["a call that came too late", "LO002", true, "never", "kept"],
])("after %s (%s, rolled back: %s) the call is sent again: %s, and the connection is %s", (...row) => {
  const [, sqlState, isRolledBack, again, connection] = row;
  expect(following(sqlState, isRolledBack)).toEqual({ again, connection });
});

test("a plan that is older than a migration is no unsupported feature: a fresh connection has none", () => {
  const following0A000 = following("0A000", true, "cached plan must not change result type");
  expect(following0A000).toEqual({ again: "later", connection: olderEnded });
});

test.each([
  ["more than one string can hold", new Error("Cannot create a string longer than 0x1fffffe8 characters")],
  ["more than Neon's proxy passes on", new Error("response is too large (max is 67108864 bytes)")],
])("an answer of %s is not asked for again: it would be too large again", (_, { message }) => {
  const cause = Object.assign(new Error(message), message.startsWith("Cannot") && { code: "ERR_STRING_TOO_LONG" });
  const following = consequenceOf(new QueryError(message, { isRolledBack: false, cause }));
  expect(following).toEqual({ again: "never", connection: "ended" });
});
