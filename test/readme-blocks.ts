/** README.md, and those of folders that it leads to, as their reader takes them: files to write, and lines to type. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const pages = ["README.md", "functions/README.md", "src/testing/README.md", "test/README.md"];

export const readme = pages.map((page) => readFileSync(new URL(`../${page}`, import.meta.url), "utf8")).join("\n");

/** What tests type, each block by a text that it alone holds. */
export const typed = ["init --on node", "--sql prints it", "wrangler login", "cdk bootstrap"] as const;

/** The block of shell that holds this text. */
export function shellWith(text: (typeof typed)[number]): string {
  const block = blocksIn("sh").find((code) => code.includes(text));
  if (block === undefined) throw new Error(`the README has no shell block with ${text}`);
  return block;
}

/** Its commands, one by one and without remarks. A line goes on as long as a quote is open. */
export function commandsIn(block: string): readonly string[] {
  const commands = block.replace(/ +# .*$/gm, "").match(/('[^']*'|[^'\n&])+/g) ?? [];
  return commands.map((command) => command.trim()).filter((command) => command !== "");
}

/** Writes each block whose first line is a comment with its path. Answers the paths. */
export function writeFiles(folder: string): readonly string[] {
  const files = blocksIn("ts").flatMap((code) => {
    const [, path] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    return path === undefined ? [] : [{ path, code }];
  });
  for (const { path, code } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  return files.map(({ path }) => path);
}

export function blocksIn(language: "sh" | "ts"): readonly string[] {
  const blocks = readme.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, itsLanguage, code = ""]) => (itsLanguage === language ? [code] : []));
}
