import { expect, test } from "vitest";
import { failedAfterSending, failedBeforeSending } from "../../src/postgres/failure.ts";

function anError(fields: object, message = "it failed"): Error {
  return Object.assign(new Error(message), fields);
}

test.each([
  ["an ordinary error of a statement", { code: "23505", severity: "ERROR" }, true],
  ["a SQLSTATE of layover's own", { code: "LO002", severity: "ERROR" }, true],
  ["a serialization failure", { code: "40001", severity: "ERROR" }, true],
  ["a cancelled statement", { code: "57014", severity: "ERROR" }, true],
  ["a connection that broke", { code: "08006", severity: "ERROR" }, false],
  ["a pooler that lost its server", { code: "08P01", severity: "FATAL" }, false],
  ["an operator who ended the session", { code: "57P01", severity: "FATAL" }, false],
  ["a crash of another session", { code: "57P02", severity: "WARNING" }, false],
  ["a server that shuts down", { code: "57P03", severity: "FATAL" }, false],
  ["a session that idled too long", { code: "57P05", severity: "FATAL" }, false],
  ["a statement whose fate Postgres does not know", { code: "40003", severity: "ERROR" }, false],
  ["anything else that ends the session", { code: "XX000", severity: "FATAL" }, false],
  ["a panic", { code: "XX001", severity: "PANIC" }, false],
])("after %s, it is known whether the statement took effect: %o %s", (_, fields, isRolledBack) => {
  expect(failedAfterSending(anError(fields))).toMatchObject({ isRolledBack, sqlState: fields.code });
});

test.each(["ECONNRESET", "EPIPE", "ETIMEDOUT", undefined])(
  "a network error (%s) has no SQLSTATE and may have come after the COMMIT",
  (code) => {
    expect(failedAfterSending(anError({ code }))).toMatchObject({ isRolledBack: false, sqlState: undefined });
  },
);

test("before anything was sent, nothing happened, whatever the error says", () => {
  for (const code of ["57P03", "53300", "ECONNREFUSED", undefined]) {
    expect(failedBeforeSending(anError({ code })).isRolledBack).toBe(true);
  }
});

test("a host with several addresses says what was wrong with each", () => {
  const refused = new AggregateError([
    anError({}, "connect ECONNREFUSED ::1:5432"),
    anError({}, "connect ECONNREFUSED 127.0.0.1:5432"),
  ]);
  expect(failedBeforeSending(refused).message).toBe(
    "connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432",
  );
});

test("what is thrown and no error is told all the same", () => {
  expect(failedAfterSending("gone")).toMatchObject({ message: "gone", isRolledBack: false });
});

test("what layover's own functions refuse says what to do about it", () => {
  const refusal = anError({ code: "LO001", severity: "ERROR", hint: "Begin it otherwise." }, "not like this");
  expect(failedAfterSending(refusal).message).toBe("not like this. Begin it otherwise.");
});
