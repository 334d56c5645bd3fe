import { expect, test } from "vitest";
import { LayoverError } from "../../src/core/errors.ts";
import { QueryError } from "../../src/core/ports.ts";
import { errorLines, logLine } from "../../src/platform/node/log-line.ts";

const entry = {
  level: "info",
  runId: "01a1f975-5531-7046-9092-7e7c27daa9ce",
  workflow: "order",
  fields: undefined,
} as const;

test("a line of the log says of which run it is, and what the fields hold", () => {
  expect(logLine({ ...entry, message: "charged", fields: { amount: 42 } })).toBe(
    "order 27daa9ce  charged { amount: 42 }",
  );
});

test("a message of several lines goes on indented, so none of them passes for an entry of its own", () => {
  expect(logLine({ ...entry, message: "one\r\n12:00:00 order 27daa9ce  paid\n" })).toBe(
    "order 27daa9ce  one\n    12:00:00 order 27daa9ce  paid\n    ",
  );
});

test("what a handler logs does nothing to the terminal", () => {
  const evil = "\u001b[2J\u009b31m\u202e\u2028\u{e0041}";
  const shown = "\\u001b[2J\\u009b31m\\u202e\\u2028\\udb40\\udc41";
  expect(logLine({ ...entry, workflow: evil, message: evil })).toBe(`${shown} 27daa9ce  ${shown}`);
  expect(logLine({ ...entry, message: "", fields: { [evil]: new Error(evil) } })).not.toMatch(
    /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u,
  );
});

test("an error is shown with its causes, indented, and does nothing to the terminal either", () => {
  const shown = errorLines(new Error("\u001b[2J\nforged", { cause: new Error("\u202e") }));
  expect(shown).toMatch(/^Error: \\u001b\[2J\n {4}forged\n(.*\n)+ {4}.*\[cause\]: Error: \\u202e\n/);
  expect(shown).not.toMatch(/\n\S/);
});

test("a database that is away is one line", () => {
  const cause = new QueryError("connect ECONNREFUSED 127.0.0.1:5432", {
    isRolledBack: true,
    cause: new Error("nested"),
  });
  expect(errorLines(cause)).toBe("connect ECONNREFUSED 127.0.0.1:5432: nested");
  const error = new LayoverError("database_unavailable", "the database could not be reached", { hint: "Wait.", cause });
  expect(errorLines(error)).toBe("the database could not be reached: connect ECONNREFUSED 127.0.0.1:5432: nested");
});
