/** A terminal in an empty folder, where npm has the package of this tree. */
import { packed } from "./packed.ts";
import { emptyFolder } from "./project.ts";
import { type RunOptions, run } from "./run.ts";

export interface Terminal {
  readonly folder: string;
  /** Answers what these lines write. Each is to succeed. */
  type(lines: string, options?: Partial<RunOptions>): Promise<string>;
}

export async function aTerminal(): Promise<Terminal> {
  const folder = emptyFolder();
  const { npmEnv } = await packed();
  const typing = { ...npmEnv, npm_config_yes: "true" }; // to what npx asks
  return {
    folder,
    type: async (lines, { cwd = folder, env } = {}) =>
      await run("sh", ["-ec", lines], { cwd, env: { ...typing, ...env } }),
  };
}
