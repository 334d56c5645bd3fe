/** README.md as its reader takes it: files to write, and lines to type. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** The block of shell that holds this text. */
export function shellWith(text: string): string {
  const block = blocksIn("sh").find((code) => code.includes(text));
  if (block === undefined) throw new Error(`the README has no shell block with ${text}`);
  return block;
}

/** Writes each block whose first line is a comment with its path. Answers the paths. */
export function writeFiles(folder: string, { except }: { except: readonly string[] }): readonly string[] {
  const files = blocksIn("ts").flatMap((code) => {
    const [, path] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    return path === undefined || except.includes(path) ? [] : [{ path, code }];
  });
  for (const { path, code } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  return files.map(({ path }) => path);
}

function blocksIn(language: "sh" | "ts"): readonly string[] {
  const blocks = readme.matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, itsLanguage, code = ""]) => (itsLanguage === language ? [code] : []));
}
