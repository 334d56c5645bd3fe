/** `--help` of the programs under test/: the comment at the head of each says how to call it. */
import { readFileSync } from "node:fs";

/** Prints the head of the program, and ends it, if somebody asks how to call it. */
export function tellUsage(program: string): void {
  if (!process.argv.includes("--help")) return;
  const [, head = ""] = /^\/\*\*\n(.*?)^ \*\/$/ms.exec(readFileSync(new URL(program), "utf8")) ?? [];
  console.log(head.replaceAll(/^ \* ?/gm, "").trimEnd());
  process.exit(0);
}
