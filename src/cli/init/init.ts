/**
 * `layover init`: begins a project in a folder. Copies layover's reference deployment, completes what is there already
 * and overwrites nothing. Fetches nothing either: that is left to `npm install`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { Command } from "commander";
import { print } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { type ProjectFile, projectFiles } from "./files.ts";
import { type Host, type HostName, hostNames, hosts } from "./hosts.ts";
import { nextSteps } from "./next-steps.ts";

const usage = `Usage: layover init --on ${hostNames} [--db pg|neon] [FOLDER]`;

export const init = new Command("init")
  .summary("begins a project, with the reference deployment")
  .description("Begins a project in a folder: layover's reference deployment, and a package.json for it.")
  .argument("[folder]", "made where it is missing", ".")
  .option("--on <host>", Object.keys(hosts).join(" or "))
  .option(
    "--db <driver>",
    "pg: any PostgreSQL, by TCP; neon: Neon over HTTP, the default on cloudflare, aws and vercel",
  )
  .action((folder: string, { on, db }: { readonly on?: string; readonly db?: string }) => {
    const name = hostNamed(on);
    begin(folder, name, hostWith(name, db));
  });

function hostWith(name: HostName, driver: string | undefined): Host {
  const known = Object.entries(hosts[name]);
  const found = driver === undefined ? known[0] : known.find(([each]) => each === driver);
  if (found?.[1] !== undefined) return found[1];
  const drivers = known.map(([each]) => `--db ${each}`).join(" or ");
  throw new UsageError(`On ${name} there is no --db ${driver}.`, { hint: `There is ${drivers}.` });
}

function hostNamed(name: string | undefined): HostName {
  if (isHost(name)) return name;
  const hint = `${usage}\nnode: one process on any machine, with any PostgreSQL. cloudflare: Workers, with Neon or, by --db pg, any PostgreSQL. aws: Lambda, by the CDK, with Neon. vercel: a function, with Neon. deno, bun: a server, with any PostgreSQL. alarm: the Worker that wakes deployments on vercel, deno and bun.`;
  throw new UsageError(name === undefined ? "Which host is it for?" : `There is no host ${JSON.stringify(name)}.`, {
    hint,
  });
}

function isHost(name: string | undefined): name is HostName {
  return name !== undefined && Object.hasOwn(hosts, name);
}

function begin(folder: string, hostName: HostName, host: Host): void {
  try {
    const name = projectName(folder);
    const files = projectFiles(host, name, textAt(folder, "package.json"));
    refuseTaken(folder, files);
    // All of it is made before any of it is written: what cannot be completed stops here.
    const made = files.map((file) => ({ ...file, ...change(file, textAt(folder, file.path)) }));
    for (const file of made) if (file.outcome !== "kept") write(folder, file);
    print(made.map(line).join("\n"));
    const packageText = made.find(({ path }) => path === "package.json")?.text ?? "";
    print(nextSteps(hostName, host, relative(process.cwd(), folder), name, packageText));
  } catch (error) {
    throw error instanceof Error && "syscall" in error ? unusable(folder, error) : error;
  }
}

/**
 * Makes a name for package.json and for what is deployed. It has letters, digits and dashes, and is never that of our
 * own package.
 */
function projectName(folder: string): string {
  const words =
    basename(resolve(folder))
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const name = words.join("-").slice(0, 50);
  return name === "" || name === "layover" ? "my-layover" : name;
}

function refuseTaken(folder: string, files: readonly ProjectFile[]): void {
  const taken = files.filter(({ path, completed }) => completed === undefined && existsSync(join(folder, path)));
  if (taken.length === 0) return;
  const paths = taken.map(({ path }) => join(folder, path)).join(", ");
  throw new UsageError(`There is already: ${paths}. Nothing was written.`, {
    hint: `Move what is there away, or name another folder: layover init --on ${hostNames} FOLDER`,
  });
}

interface Change {
  readonly outcome: "new" | "completed" | "kept";
  readonly text: string;
}

function change({ text, completed }: ProjectFile, existing: string | undefined): Change {
  if (completed === undefined || existing === undefined) return { outcome: "new", text };
  const after = completed(existing);
  return { outcome: after === existing ? "kept" : "completed", text: after };
}

function textAt(folder: string, path: string): string | undefined {
  const file = join(folder, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function line({ outcome, path, advice }: ProjectFile & Change): string {
  const isYours = outcome === "kept" && advice !== undefined;
  return `${outcome.padEnd(9)} ${path}${isYours ? `  # ${advice}` : ""}`;
}

function write(folder: string, { path, text, isSecret = false, outcome }: ProjectFile & Change): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: isSecret ? 0o600 : 0o644, flag: outcome === "new" ? "wx" : "w" });
}

function unusable(folder: string, cause: Error): UsageError {
  return new UsageError(`The folder ${folder} cannot be used: ${cause.message}`, {
    hint: `Name one that you may write to: layover init --on ${hostNames} FOLDER`,
    cause,
  });
}
