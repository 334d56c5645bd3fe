/**
 * The real PgBouncer, as Debian ships it, in front of a Postgres of ours: in transaction mode, all other options as they
 * are by default. Where it is not installed, it is installed.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { unprivileged } from "./binaries.ts";

export interface PgBouncer {
  /** The address of the same database through it. */
  readonly url: string;
  stop(): Promise<void>;
}

const aptGet = "/usr/bin/apt-get";

/** Why there is none on this machine, and none can be had; nothing where it is there. */
export function whyNoPgBouncer(): string | undefined {
  if (findBinary() !== undefined) return undefined;
  if (process.getuid?.() !== 0 || !existsSync(aptGet)) {
    return "PgBouncer is not installed, and only root can install it, by apt-get on Debian or Ubuntu.";
  }
  const install = () =>
    spawnSync(aptGet, ["install", "--yes", "--no-install-recommends", "pgbouncer"], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      encoding: "utf8",
    });
  if (install().status === 0) return undefined;
  spawnSync(aptGet, ["update"]);
  const { status, stderr } = install();
  return status === 0 ? undefined : `PgBouncer could not be installed: ${stderr}`;
}

function findBinary(): string | undefined {
  return ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"].find((file) => existsSync(file));
}

/** As the keeper of a server: when this process ends, however it does, the pipe is closed. */
const keeper = `
"$1" "$2/pgbouncer.ini" </dev/null >>"$2/log" 2>&1 &
bouncer=$!
read -r _
kill -KILL $bouncer
wait $bouncer
rm -rf "$2"
`;

export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  const binary = findBinary();
  if (binary === undefined) throw new Error("PgBouncer is not installed.");
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const identity = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), "layover-pgbouncer-"));
  const ownPort = await freePort();
  const database = pathname.slice(1);
  const server = { host: hostname, port: port || "5432", dbname: database, user: username, password };
  const terms = Object.entries(server).map(([name, value]) => `${name}=${decodeURIComponent(value)}`);
  const settings = `[databases]
${database} = ${terms.join(" ")}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
`;
  writeFileSync(join(folder, "pgbouncer.ini"), settings);
  if (identity.uid !== undefined && identity.gid !== undefined) {
    for (const file of [folder, join(folder, "pgbouncer.ini")]) chownSync(file, identity.uid, identity.gid);
  }
  const kept = spawn("/bin/sh", ["-c", keeper, "sh", binary, folder], {
    ...identity,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(kept, "close");
  const stop = async () => {
    kept.stdin.end();
    await ended;
  };
  for (let tries = 1; !(await listens(ownPort)); tries += 1) {
    if (tries === 200) {
      const log = readFileSync(join(folder, "log"), "utf8");
      await stop();
      throw new Error(`PgBouncer does not listen:\n${log}`);
    }
    await delay(50);
  }
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(ownPort);
  return { url: url.href, stop };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
