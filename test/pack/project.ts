/** A project that somebody begins with the published package, as `layover init` tells them to. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { ServerProcess } from "../platform/server-process.ts";
import { packed } from "./packed.ts";
import { run } from "./run.ts";

export interface Project {
  readonly folder: string;
  /** An API key that is good for its database. */
  readonly key: string;
}

/** Makes a folder that is gone after the test. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "layover-project-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a project in an empty folder, migrates its database, and creates a key. */
export async function aProject(host: "node" | "cloudflare", databaseUrl: string): Promise<Project> {
  const folder = emptyFolder();
  const { npmEnv: env } = await packed();
  await run("npx", ["--yes", "layover", "init", "--on", host], { cwd: folder, env });
  await run("npm", ["install"], { cwd: folder, env });
  appendFileSync(join(folder, host === "node" ? ".env" : ".dev.vars"), `DATABASE_URL=${databaseUrl}\n`);
  await Promise.all(["typecheck", "migrate"].map(async (script) => await run("npm", ["run", script], { cwd: folder })));
  const created = await run("npx", ["layover", "keys", "create", "me", "--scopes", "start,read,signal"], {
    cwd: folder,
  });
  return { folder, key: created.trim() };
}

const Package = z.object({ scripts: z.record(z.string(), z.string()) });

/** Answers the command of a script, as `npm run` runs it. */
export function scriptIn(folder: string, name: string): string | undefined {
  return Package.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).scripts[name];
}

/** Reads the variables of a project's environment file. */
export function secretsIn(folder: string, envFile: string): Record<string, string> {
  return z.record(z.string(), z.string()).parse(parseEnv(readFileSync(join(folder, envFile), "utf8")));
}

export interface Served {
  readonly url: string;
  readonly untilSaid: (pattern: RegExp) => Promise<RegExpExecArray>;
  readonly kill: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Runs what `npm start` runs, on any port that is free. npm is left out, since it would not pass every signal on. */
export async function serve(folder: string): Promise<Served> {
  const [command, ...args] = scriptIn(folder, "start")?.split(" ") ?? [];
  if (command !== "node") throw new Error(`the script "start" is run by ${command}, not by node`);
  const server = new ServerProcess(args, { cwd: folder, env: { PORT: "0" } });
  onTestFinished(async () => void (await server.kill()));
  const [, url = ""] = await server.untilSaid(/listens on (http:\S+)/);
  return {
    url,
    untilSaid: async (pattern) => await server.untilSaid(pattern),
    kill: async (signal) => await server.kill(signal),
  };
}
