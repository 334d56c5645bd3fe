/**
 * A Postgres server of one's own, for a test run, a benchmark or a chaos test: made from nothing, gone afterwards.
 *
 * Each server has a keeper: a shell that is its parent and reads from a pipe which only this process holds open.
 * However this process ends, `kill -9` included, the kernel closes the pipe; then the keeper ends the server and
 * removes its data.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { findBinaries, type Identity, type PostgresVersion, unprivileged } from "./binaries.ts";
import { folderPrefix, removeAbandonedFolders } from "./folders.ts";

export interface ServerOptions {
  readonly version: PostgresVersion;
  /**
   * Settings laid over {@link testSettings}. With `fsync: "on"` the data lie on disk, otherwise in memory where there
   * is room.
   */
  readonly settings?: Readonly<Record<string, string | number>>;
  readonly port?: number;
  /** Whether `url` leads to a Unix domain socket, not to a TCP port. The simulator is 15 % faster with that. */
  readonly overSocket?: true;
}

export interface PostgresServer {
  /** Address of the database `postgres`, for a superuser with a password. */
  readonly url: string;
  readonly version: PostgresVersion;
  /** Process id of the postmaster. It is another one after each {@link restart}. */
  readonly pid: number;
  /** Ends the server, however busy it is, and removes its data. */
  stop(): Promise<void>;
  /** Sends a signal to the postmaster. Resolves once it is gone, where the signal ends it. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts the server again on the same data, port and settings. Shuts it down properly first, if it still runs. */
  restart(): Promise<void>;
}

/**
 * Settings for data that are not worth keeping. All else is Postgres' default, since tests should meet what users
 * have.
 */
const testSettings = {
  fsync: "off",
  full_page_writes: "off",
  // In the data folder, not in /dev/shm, where a killed server would leave it behind.
  dynamic_shared_memory_type: "mmap",
  max_connections: 200,
  shared_buffers: "64MB",
  min_wal_size: "32MB",
  max_wal_size: "256MB",
};

const keeper = `
folder=$1; shift
exec 3<&0
"$@" </dev/null >>"$folder/log" 2>&1 3<&- &
server=$!
echo $server
exec >/dev/null
( while read -r _; do :; done <&3
  : >"$folder/abandoned"
  kill -CONT $server; kill -QUIT $server
  sleep 1; kill -KILL $server ) 2>/dev/null &
watch=$!
trap 'kill -QUIT $server' HUP INT TERM
while kill -0 $server 2>/dev/null; do wait $server; done
kill -KILL $watch 2>/dev/null
if [ -e "$folder/abandoned" ]; then rm -rf "$folder"; fi
`;

export async function startPostgres(options: ServerOptions): Promise<PostgresServer> {
  const { version } = options;
  const identity = unprivileged();
  const binaries = findBinaries(version, identity);
  removeAbandonedFolders();
  const ofCaller = { ...testSettings, ...options.settings };
  const folder = makeFolder(ofCaller.fsync === "off", identity);
  const settings = { ...(options.overSocket && { unix_socket_directories: folder }), ...ofCaller };
  const password = randomBytes(12).toString("hex");

  try {
    await makeCluster(binaries, folder, password, identity);
    let port = options.port ?? (await freePort());
    const run = () => runServer({ command: join(binaries, "postgres"), folder, port, settings, identity });
    let running: Running;
    for (let attempt = 1; ; attempt++) {
      try {
        running = await run();
        break;
      } catch (error) {
        // Between asking for a free port and taking it, somebody else may take it.
        if (options.port !== undefined || attempt === 5 || !String(error).includes("could not bind")) throw error;
        port = await freePort();
      }
    }

    return {
      version,
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres${options.overSocket ? `?host=${folder}` : ""}`,
      get pid() {
        return running.pid;
      },
      async stop() {
        await running.end("SIGQUIT");
        rmSync(folder, { recursive: true, force: true });
      },
      async kill(signal) {
        const ends = !["SIGSTOP", "SIGCONT", "SIGHUP", "SIGUSR1", "SIGUSR2"].includes(signal);
        if (ends) await running.end(signal);
        else process.kill(running.pid, signal);
      },
      async restart() {
        await running.end("SIGINT");
        running = await run();
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Makes the folder for the data, in memory where a gigabyte is free. Creating a database makes some 300 files, which
 * took 230 ms on a busy ext4 and 7 ms on tmpfs (PostgreSQL 15 and 18 alike).
 */
function makeFolder(inMemory: boolean, identity: Identity): string {
  const folder = mkdtempSync(join(inMemory ? roomiestParent() : tmpdir(), folderPrefix));
  writeFileSync(join(folder, "starter"), String(process.pid));
  give(folder, identity);
  return folder;
}

function give(file: string, { uid, gid }: Identity): void {
  if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid);
}

function roomiestParent(): string {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 ** 30 ? memory : tmpdir();
}

async function makeCluster(binaries: string, folder: string, password: string, identity: Identity): Promise<void> {
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o644 });
  const flags = ["--auth=password", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"];
  const initdb = spawn(join(binaries, "initdb"), [`--pgdata=${folder}/data`, `--pwfile=${passwordFile}`, ...flags], {
    ...identity,
    cwd: folder,
    env: { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [initdb.stdout, initdb.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const [code] = await once(initdb, "close");
  rmSync(passwordFile);
  if (code !== 0) throw new Error(`initdb failed:\n${output}`);
}

interface Running {
  readonly pid: number;
  /** Sends the signal to the server, unless it is gone already, and waits until it is. */
  end(signal: NodeJS.Signals): Promise<void>;
}

interface Launch {
  readonly command: string;
  readonly folder: string;
  readonly port: number;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly identity: Identity;
}

async function runServer(launch: Launch): Promise<Running> {
  // Backends outlive a killed postmaster by some milliseconds, and hold its shared memory.
  for (let attempt = 1; ; attempt++) {
    try {
      return await launchOnce(launch);
    } catch (error) {
      if (attempt === 100 || !String(error).includes("pre-existing shared memory")) throw error;
      await delay(50);
    }
  }
}

async function launchOnce({ command, folder, port, settings, identity }: Launch): Promise<Running> {
  const all = { listen_addresses: "127.0.0.1", unix_socket_directories: "", port, ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  writeFileSync(join(folder, "log"), "");
  give(join(folder, "log"), identity);
  const shell = spawn("sh", ["-c", keeper, "keeper", folder, command, "-D", join(folder, "data"), ...flags], {
    ...identity,
    cwd: folder,
    // A session of its own: Ctrl-C in the terminal of the tests must not reach the server before its clients are gone.
    detached: true,
    env: { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(shell, "exit").then(() => {
    shell.stdin.destroy();
  });
  const [line] = await Promise.race([once(shell.stdout, "data"), ended.then(() => [""])]);
  const pid = Number.parseInt(String(line), 10);
  await untilReady(shell, pid, folder);
  letGo(shell);

  return {
    pid,
    async end(signal) {
      shell.ref();
      if (shell.exitCode === null && shell.signalCode === null) process.kill(pid, signal);
      await ended;
    },
  };
}

async function untilReady(shell: ChildProcess, pid: number, folder: string): Promise<void> {
  for (;;) {
    if (shell.exitCode !== null || shell.signalCode !== null) {
      throw new Error(`Postgres did not start:\n${readFileSync(join(folder, "log"), "utf8")}`);
    }
    if (isReady(pid, folder)) return;
    await delay(5);
  }
}

/** Tells whether the server is ready. The postmaster writes its state into the last line of `postmaster.pid`. */
function isReady(pid: number, folder: string): boolean {
  try {
    const lines = readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n");
    return lines[0] === String(pid) && lines[7]?.trim() === "ready";
  } catch {
    return false;
  }
}

/**
 * Lets this process end although the server runs. A script that forgets to stop its server ends, and the server with
 * it.
 */
function letGo(shell: ChildProcess): void {
  shell.unref();
  for (const stream of [shell.stdin, shell.stdout]) {
    if (stream && "unref" in stream && typeof stream.unref === "function") stream.unref();
  }
}
