import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { complaint } from "../../src/cli/complaint.ts";
import { plain, print, table, wrapped } from "../../src/cli/screen.ts";
import { fromNow, lasting } from "../../src/cli/times.ts";
import { UsageError } from "../../src/cli/usage-error.ts";

describe("a table", () => {
  const columns = [{ title: "ID", isWhole: true }, { title: "NAME" }, { title: "" }];
  const rows = [
    ["0199-aaaa-bbbb-cccc", "a name that is rather long", "a remark that goes on for quite a while"],
    ["0199-aaaa-bbbb-dddd", "Ann", ""],
  ];

  test("gives each column what it needs where there is room", () => {
    expect(table(columns, rows, Number.POSITIVE_INFINITY)).toBe(
      [
        "ID                   NAME",
        "0199-aaaa-bbbb-cccc  a name that is rather long  a remark that goes on for quite a while",
        "0199-aaaa-bbbb-dddd  Ann",
      ].join("\n"),
    );
  });

  test("cuts off the widest first, and never what is there to be copied", () => {
    expect(table(columns, rows, 60).split("\n")[1]).toBe(
      "0199-aaaa-bbbb-cccc  a name that is rat…  a remark that goe…",
    );
    expect(table(columns, rows, 70).split("\n")[1]).toBe(
      "0199-aaaa-bbbb-cccc  a name that is rather l…  a remark that goes on …",
    );
    expect(table(columns, rows, 10).split("\n")[1]).toBe("0199-aaaa-bbbb-cccc  a name …  a remar…");
  });

  test("counts the columns that a terminal takes: two for a Chinese character or an emoji, none for an accent", () => {
    const wide = [
      ["1", "注文注文注文注文", "a"],
      ["2", "🎉 e\u0301", "b"],
    ];
    expect(table(columns, wide, Number.POSITIVE_INFINITY)).toBe(
      ["ID  NAME", "1   注文注文注文注文  a", `2   🎉 e\u0301${" ".repeat(14)}b`].join("\n"),
    );
    expect(table(columns, wide, 18).split("\n")[1]).toBe("1   注文注文注…  a");
  });

  test("goes on in further lines where a cell asks for it", () => {
    const wrapping = [["1", "step", { text: "one two three four five six seven", wraps: true }]];
    expect(table(columns, wrapping, 30)).toBe(
      ["ID  NAME", "1   step  one two three four", "          five six seven"].join("\n"),
    );
  });
});

test("what others named does nothing to the terminal, and shows what it would have done", () => {
  expect(plain("a\nb\t c\u001b[2J\u009b31m\u202e!")).toBe("a b c\\u001b[2J\\u009b31m\\u202e!");
});

test("of what is printed a terminal obeys the line ends, and the colours that were put around what is plain", () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  print(`\u001b[31m${plain("\u001b[8mred")}\u001b[39m\u001b[2J\u0007\nnext`);
  expect(log.mock.calls).toEqual([["\u001b[31m\\u001b[8mred\u001b[39m\\u001b[2J\\u0007\nnext"]]);
  log.mockRestore();
});

test("text is broken between words, and a word that is too long stands as it is", () => {
  expect(wrapped("to https://example.com/a/long/address and back", { indent: 2, width: 20 })).toBe(
    "to\n  https://example.com/a/long/address\n  and back",
  );
});

test.each([
  [0, "now"],
  [7_500_000, "in 2 h 5 min"],
  [-90_500, "1 min 30 s ago"],
])("an instant %i ms from now is %j", (ms, text) => {
  expect(fromNow(new Date(1_000_000_000 + ms), new Date(1_000_000_000))).toBe(text);
});

test.each([
  [12, "12 ms"],
  [1_999, "1 s"],
])("%i ms last %j", (ms, text) => {
  expect(lasting(ms)).toBe(text);
});

test("no command writes to the console by itself, past what makes others' texts harmless", () => {
  const folder = new URL("../../src/cli/", import.meta.url);
  const writers = readdirSync(folder, { encoding: "utf8", recursive: true }).filter(
    (file) => file.endsWith(".ts") && /\bconsole\./.test(readFileSync(new URL(file, folder), "utf8")),
  );
  expect(writers).toEqual(["screen.ts"]);
});

test("a complaint is broken between words, where the terminal is narrow", () => {
  const before = Object.getOwnPropertyDescriptor(process.stderr, "columns");
  onTestFinished(
    () => void Object.defineProperty(process.stderr, "columns", before ?? { value: undefined, configurable: true }),
  );
  Object.defineProperty(process.stderr, "columns", { value: 20, configurable: true, writable: true });
  const error = new UsageError("There is no run here.", { hint: "Name it by our id of it." });
  expect(complaint(error)).toBe("There is no run\nhere.\nName it by our id of\nit.");
});
