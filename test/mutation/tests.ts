/** The tests of a workbench, run on templates of databases: many mutants with one loading of the tests' modules. */
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { endGroup, type Workbench } from "./workbench.ts";

/** What run-tests.ts is asked: which files these filters of vitest mean, or to run a file on templates, one after the other. */
export type Asked =
  | { readonly filters: readonly string[] }
  | { readonly file: string; readonly templates: readonly string[] };

const told = z.union([
  z.object({ files: z.array(z.string()) }),
  /** `why`: what failed on this template. Undefined: nothing did. */
  z.object({ template: z.string(), why: z.string().optional() }),
  /** The run is over. */
  z.object({ unhandled: z.array(z.string()) }),
]);
export type Told = z.infer<typeof told>;

/** What the first test that failed said. "hung": it took too long. Undefined: no test failed. */
export type Outcome = { readonly why: string } | "hung" | undefined;

export class Tests {
  readonly #workbench: Workbench;
  readonly #env: Readonly<Record<string, string>>;
  /** File to which the tests write what they have called. */
  readonly #called: string;
  /** Is kept from run to run (run-tests.ts). */
  #runner: ChildProcess | undefined;

  constructor(workbench: Workbench, { serverUrl, own }: { readonly serverUrl: string; readonly own: string }) {
    this.#workbench = workbench;
    this.#called = join(workbench.folder, "called");
    this.#env = { TEST_DATABASE_URL: serverUrl, OWN_TEMPLATE: own, CALLED_FILE: this.#called };
  }

  /** Answers the functions that were called since {@link forgetCalled}, on the template of the tree as it is. */
  called(): ReadonlySet<string> {
    return new Set(existsSync(this.#called) ? readFileSync(this.#called, "utf8").split("\n") : []);
  }

  forgetCalled(): void {
    rmSync(this.#called, { force: true });
  }

  /** Answers the files that these filters of vitest mean. */
  async files(filters: readonly string[]): Promise<readonly string[]> {
    let files: readonly string[] = [];
    await this.#ask({ filters }, 120_000, (said) => {
      if ("files" in said) files = said.files;
      return "files" in said;
    });
    return files;
  }

  /** Runs a file on each template, until a test fails there. A template may take so long. */
  async run(file: string, templates: readonly string[], longestMs: number): Promise<ReadonlyMap<string, Outcome>> {
    const outcomes = new Map<string, Outcome>();
    let unhandled: readonly string[] = [];
    for (let left = templates; left.length > 0; left = templates.filter((one) => !outcomes.has(one))) {
      const isAnswered = await this.#ask({ file, templates: left }, longestMs, (said) => {
        if ("template" in said) outcomes.set(said.template, said.why === undefined ? undefined : { why: said.why });
        if ("unhandled" in said) unhandled = said.unhandled;
        return "unhandled" in said;
      });
      const [first] = templates.filter((one) => !outcomes.has(one));
      if (first === undefined) break;
      if (isAnswered) throw new Error(`${file} was not run on ${first}`);
      outcomes.set(first, "hung");
    }
    const [strange] = unhandled;
    if (strange === undefined) return outcomes;
    // Nobody knows on which template it was.
    const [only] = templates;
    if (templates.length === 1 && only !== undefined)
      return new Map([[only, outcomes.get(only) ?? { why: `Outside of any test: ${strange}` }]]);
    for (const one of templates.filter((each) => outcomes.get(each) === undefined)) {
      const alone = await this.run(file, [one], longestMs);
      outcomes.set(one, alone.get(one));
    }
    return outcomes;
  }

  /** Hears what is told until `hear` answers that this is all. Answers false, and ends the runner, where nothing comes for too long. */
  async #ask(asked: Asked, longestMs: number, hear: (said: Told) => boolean): Promise<boolean> {
    const runner = this.#runner ?? this.#workbench.start(["test/mutation/run-tests.ts"], this.#env, "ipc");
    this.#runner = runner;
    let output = "";
    const note = (chunk: unknown) => (output = `${output}${chunk}`.slice(-1000));
    for (const stream of [runner.stdout, runner.stderr]) stream?.removeAllListeners("data").on("data", note);
    let isLate = false;
    let timer: NodeJS.Timeout | undefined;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isLate = true;
        endGroup(runner);
      }, longestMs);
    };
    wait();
    try {
      return await new Promise<boolean>((resolve, reject) => {
        runner.on("message", (message) => {
          wait();
          if (hear(told.parse(message))) resolve(true);
        });
        runner.once("exit", () => {
          this.#runner = undefined;
          if (isLate) resolve(false);
          else reject(new Error(`The runner of the tests has ended: ${output}`));
        });
        runner.send(asked);
      });
    } finally {
      clearTimeout(timer);
      runner.removeAllListeners("message").removeAllListeners("exit");
    }
  }
}
