/**
 * Which functions each file of tests calls, as Postgres counts them while the file runs on the tree as it is. A file that
 * never calls a function finds none of its mutants out. So a mutant that survives is asked about by some files, and not by all.
 */
import { globSync, readFileSync } from "node:fs";
import type { SqlFunction } from "../../src/postgres/sql-files.ts";
import { onServer } from "../postgres/fresh-database.ts";
import type { Tests } from "./tests.ts";
import { root } from "./workbench.ts";

const longestMs = 300_000;

interface Measured {
  readonly called: ReadonlySet<string>;
  readonly ms: number;
  /** Whether it passes without any mutant. Otherwise it would kill all of them, and is left out. */
  readonly isSound: boolean;
}

export class Reach {
  readonly #own: string;
  readonly #countedAs: CountedAs;
  readonly #measured = new Map<string, Promise<Measured>>();
  readonly #kills = new Map<string, number>();

  /** `own`: the template of the tree as it is. */
  constructor(functions: readonly SqlFunction[], own: string) {
    this.#own = own;
    this.#countedAs = countedAs(functions);
  }

  /** Has the server count the calls of functions, in sessions that begin from now on. */
  static async count(serverUrl: string, counts: boolean): Promise<void> {
    await onServer(
      serverUrl,
      `alter role current_user ${counts ? "set track_functions = 'all'" : "reset track_functions"}`,
    );
  }

  /** Answers those files that call the function: first what has found most out, then what takes least. */
  async inOrder(files: readonly string[], name: string, tests: Tests): Promise<readonly string[]> {
    const known: { readonly file: string; readonly kills: number; readonly ms: number }[] = [];
    for (const file of files) {
      const measured = this.#measured.get(file) ?? this.#measure(file, tests);
      this.#measured.set(file, measured);
      const { called, ms, isSound } = await measured;
      if (!isSound) continue;
      if (mayCall(called, name, this.#countedAs)) known.push({ file, kills: this.#kills.get(file) ?? 0, ms });
    }
    return known.sort((one, other) => other.kills - one.kills || one.ms - other.ms).map(({ file }) => file);
  }

  noteKill(file: string): void {
    this.#kills.set(file, (this.#kills.get(file) ?? 0) + 1);
  }

  async #measure(file: string, tests: Tests): Promise<Measured> {
    const began = performance.now();
    tests.forgetCalled();
    const outcome = (await tests.run(file, [this.#own], longestMs)).get(this.#own);
    if (outcome !== undefined)
      console.log(
        `left out, since it fails without any mutant: ${file}: ${outcome === "hung" ? outcome : outcome.why}`,
      );
    return { called: tests.called(), ms: performance.now() - began, isSound: outcome === undefined };
  }
}

/** Names for each function those of which a call may be a call of it: Postgres puts some functions of SQL into their callers. */
export type CountedAs = ReadonlyMap<string, ReadonlySet<string>>;

/** Tells whether somebody who has called these functions may have called this one. */
export function mayCall(called: ReadonlySet<string>, name: string, counted: CountedAs): boolean {
  const names = counted.get(name);
  return names === undefined || names.has("*") || [...names].some((each) => called.has(each));
}

/** `*`: a call is not counted at all, so anybody may have made one. */
export function countedAs(functions: readonly SqlFunction[]): CountedAs {
  const files = globSync(["src/postgres/migrations/*.sql", "test/**/*.{ts,sql}"], { cwd: root });
  const elsewhere = files.map((file) => readFileSync(new URL(file, root), "utf8")).join("\n");
  const names = new Map<string, Set<string>>();
  const of = ({ name, file, sql }: SqlFunction): Set<string> => {
    const known = names.get(name);
    if (known !== undefined) return known;
    const counted = new Set([name]);
    names.set(name, counted);
    if (!/\blanguage sql\b/.test(sql)) return counted;
    const call = `layover.${name}(`;
    if (file.includes("/entries/") || elsewhere.includes(call)) counted.add("*");
    for (const caller of functions.filter((each) => each.name !== name && each.sql.includes(call)))
      for (const each of of(caller)) counted.add(each);
    return counted;
  };
  for (const each of functions) of(each);
  return names;
}
