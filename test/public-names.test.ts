import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readSources } from "./layers.ts";
import { publicNames } from "./public-names.ts";

describe("the public names", () => {
  it("of every entry: what can be called says what it does, with an example", () => {
    const { entries } = readSources();
    expect([...entries.keys()]).toContain("layover/client");
    const untold = [...entries].flatMap(([entry, file]) =>
      publicNames(file)
        .filter(({ kind }) => kind === "FunctionDeclaration" || kind === "ClassDeclaration")
        .filter(({ docstring = "" }) => !/@example|@internal/.test(docstring))
        .map(({ name, file: declaredIn }) => `${entry}: ${name} in ${declaredIn}`),
    );
    expect(untold).toEqual([]);
  });

  it("are found through every file that passes them on", () => {
    const names = publicNames("src/client/over-http/http-client.ts");
    const told = Object.fromEntries(names.map(({ name, file, kind }) => [name, [kind, file]]));
    expect(told).toMatchObject({
      HttpClient: ["ClassDeclaration", "src/client/over-http/http-client.ts"],
      LayoverError: ["ClassDeclaration", "src/core/errors.ts"],
      HttpClientOptions: ["TSInterfaceDeclaration", "src/client/over-http/api.ts"],
      RunView: ["TSInterfaceDeclaration", "src/client/run-view.ts"],
    });
  });

  it.each([
    ["compensate", "A completed run undoes nothing"],
    ["compensate", "An undo must void or occupy the step's own idempotency key"],
    ["race", "What they did stays done"],
    ["continueAsNew", "nothing is undone"],
  ])("of a step tell what is undone, and what not: %s: %s", (name, sentence) => {
    const text = readFileSync("src/core/contract/step.ts", "utf8");
    const [docstring] = text.match(new RegExp(`/\\*\\*(?:(?!\\*/)[^])*\\*/\\s*(?:readonly )?${name}[?(<:]`)) ?? [];
    expect(docstring?.replace(/\s+\* /g, " ")).toContain(sentence);
  });
});
