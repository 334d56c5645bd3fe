/** Files stay small enough to be read at once. One that is long by its nature says so in its first comment. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("no file is over 300 lines, but those whose first comment says why the file is long", () => {
  const files = globSync("{src,functions,infra,test}/**/*.{ts,mjs,sql}", {
    exclude: (name) => name === "node_modules",
  });
  expect(files.length).toBeGreaterThan(1_000);
  const tooLong = files.filter((file) => {
    const text = readFileSync(file, "utf8");
    const [head = ""] = /^\/\*\*.*?\*\//s.exec(text) ?? [];
    return (
      text.trimEnd().split("\n").length > 300 && !/\bfile is\s(?:\*\s+)?long since\b/.test(head.replaceAll("\n", " "))
    );
  });
  expect(tooLong).toEqual([]);
});
