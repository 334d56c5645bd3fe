/** The tests of a workbench, run on the SQL that lies in it at the time. */
import type { ChildProcess } from "node:child_process";
import { z } from "zod";
import { endGroup, type Workbench } from "./workbench.ts";

const answer = z.object({ failure: z.object({ file: z.string(), why: z.string() }).optional() });

/** The first test that failed: its file, as a path from the root of the tree, and what it said. */
export type Failure = NonNullable<z.infer<typeof answer>["failure"]>;

export class Tests {
  readonly #workbench: Workbench;
  readonly #env: Readonly<Record<string, string>>;
  /** Is kept from run to run (run-tests.ts). */
  #runner: ChildProcess | undefined;

  constructor(workbench: Workbench, serverUrl: string) {
    this.#workbench = workbench;
    this.#env = { TEST_DATABASE_URL: serverUrl };
  }

  /** Runs the files that these filters of vitest mean, until a test fails. Answers "hung" where that took too long. */
  async run(filters: readonly string[], longestMs: number): Promise<Failure | "hung" | undefined> {
    const runner = this.#runner ?? this.#workbench.start(["test/mutation/run-tests.ts"], this.#env, "ipc");
    this.#runner = runner;
    let output = "";
    const hear = (chunk: unknown) => (output = `${output}${chunk}`.slice(-1000));
    for (const stream of [runner.stdout, runner.stderr]) stream?.removeAllListeners("data").on("data", hear);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endGroup(runner);
    }, longestMs);
    try {
      return await new Promise<Failure | "hung" | undefined>((resolve, reject) => {
        runner.once("message", (message) => resolve(answer.parse(message).failure));
        runner.once("exit", () => {
          this.#runner = undefined;
          if (isLate) resolve("hung");
          else reject(new Error(`The runner of the tests has ended: ${output}`));
        });
        runner.send(filters);
      });
    } finally {
      clearTimeout(timer);
      runner.removeAllListeners("message").removeAllListeners("exit");
    }
  }
}
