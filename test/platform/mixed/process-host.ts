/** A process of Node's, on a port that it keeps when it begins anew. */
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { neon } from "../../../src/postgres/neon.ts";
import { freePort } from "../../free-port.ts";
import { secret } from "../a-worker.ts";
import { ServerProcess } from "../server-process.ts";
import { openDeadlyWire } from "./deadly-wire.ts";
import { openFates } from "./fates.ts";
import type { Mortal, OneHost } from "./one-host.ts";
import type { Build } from "./workflows.ts";

/** Call it within a test. */
export async function beginProcess(mortal: Mortal): Promise<OneHost> {
  let current: Build = "first";
  const wire = await openDeadlyWire(mortal);
  const fates = await openFates(mortal);
  const ports = [await freePort(), await freePort()] as const;
  const begin = async (build: Build, port: number = ports[0]) => {
    const began = new ServerProcess(["--conditions=layover-source", "test/platform/mixed/node-process.ts"], {
      cwd: fileURLToPath(new URL("../../..", import.meta.url)),
      env: {
        DATABASE_URL: wire.url,
        FATES_URL: fates.url,
        // All hosts call the database by one name, wherever Neon is reached.
        ENDPOINT: neon(mortal.databaseUrl, { fetchEndpoint: "http://127.0.0.1" }).endpoint,
        LAYOVER_SECRET: secret,
        PORT: String(port),
        BUILD: build,
        ...mortal.clock.variables,
      },
    });
    await began.untilSaid(/listens on/);
    return began;
  };
  let server = await begin(current);
  let canary: ServerProcess | undefined;
  let requests = 0;
  const end = async (signal?: NodeJS.Signals) => {
    await Promise.all([server.kill(signal), canary?.kill(signal)]);
    canary = undefined;
  };
  onTestFinished(async () => {
    await end();
    wire.close();
    fates.close();
  });
  return {
    get url() {
      requests += 1;
      return `http://127.0.0.1:${ports[canary === undefined || requests % 2 === 0 ? 0 : 1]}`;
    },
    deployed: async () => {}, // It has noted itself at its beginning.
    die: () => void end(),
    async revive() {
      await end();
      server = await begin(current);
    },
    async share(build) {
      canary = await begin(build, ports[1]);
    },
    async release(build) {
      current = build;
      await end("SIGTERM");
      server = await begin(current);
    },
    isAtWork: () => false,
    output: () => `${server.output}${canary?.output ?? ""}`,
  };
}
