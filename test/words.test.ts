/** Comments stand alone: none begins with a preposition, which takes its noun from the line below. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const prepositions =
  "About|Across|After|Against|Among|At|Before|Beneath|Beside|Between|Beyond|By|During|For|From|In|Into|Like|Near|Of|Off|On|Out|Over|Per|Since|Through|To|Under|Until|Via|With|Within|Without";

test.each([
  ["TypeScript", "{src,functions,test}/**/*.ts", new RegExp(`/\\*\\*\\s*(?:\\* )?(?:${prepositions})\\b`, "g")],
  ["SQL", "src/postgres/functions/**/*.sql", new RegExp(`^-- (?:${prepositions})\\b`, "g")],
])("no comment of %s begins with a preposition", (_, pattern, begins) => {
  const found = globSync(pattern, { exclude: (name) => name === "node_modules" }).flatMap((file) => {
    const text = readFileSync(file, "utf8");
    return [...text.matchAll(begins)].map(({ index }) => `${file}:${text.slice(0, index).split("\n").length}`);
  });
  expect(found).toEqual([]);
});
