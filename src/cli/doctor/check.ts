/** One thing that `layover doctor` looked at, and how it is written down. */
import { styleText } from "node:util";
import { plain, screenWidth, wrapped } from "../screen.ts";

export interface Check {
  readonly about: string;
  /** A problem keeps runs from being carried out, or people from getting in. */
  readonly level: "well" | "warning" | "problem";
  /** A sentence. */
  readonly says: string;
  readonly todo?: string | undefined;
  /** The same as data, for programs. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

const marks = { well: ["✓", "green"], warning: ["!", "yellow"], problem: ["✗", "red"] } as const;

export function shownChecks(checks: readonly Check[]): string {
  const titles = checks.map(({ about }, index) => (checks[index - 1]?.about === about ? "" : about));
  const widest = Math.max(...titles.map((title) => title.length));
  const indent = widest + 4;
  return checks
    .map(({ level, says, todo }, index) => {
      const [mark, colour] = marks[level];
      const title = (titles[index] ?? "").padEnd(widest);
      const width = screenWidth();
      const said = wrapped(plain(says), { indent, width });
      const advice =
        todo === undefined ? "" : `\n${" ".repeat(indent)}→ ${wrapped(plain(todo), { indent: indent + 2, width })}`;
      return `${styleText(colour, mark)} ${styleText("bold", title)}  ${said}${advice}`;
    })
    .join("\n");
}

/** "3 problems and 1 warning" */
export function summary(checks: readonly Check[]): string {
  const counts = (["problem", "warning"] as const).flatMap((level) => {
    const count = checks.filter((check) => check.level === level).length;
    return count === 0 ? [] : [`${count} ${level}${count === 1 ? "" : "s"}`];
  });
  return counts.length === 0 ? "All is well." : `${counts.join(" and ")}.`;
}
