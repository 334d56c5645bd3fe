/**
 * What an isolate keeps from one request to the next: settings and numbers only. A connection or a promise belongs to
 * the request that made it. workerd does not let another request use it: a request that awaits such a promise hangs or
 * is ended.
 */
import type { Workflow } from "../../core/contract/contract.ts";
import type { Schedule } from "../../core/contract/schedule.ts";
import { LayoverError } from "../../core/errors.ts";
import { codeDigest } from "../../engine/digest.ts";
import type { Deployment } from "../../engine/options.ts";
import { newRemembered, type Remembered } from "../../http/remembered.ts";
import { newRooms, type Rooms } from "../../http/room.ts";
import { Secrets } from "../../http/secrets.ts";
import { DatabaseClock } from "../../postgres/database-clock.ts";
import type { Runtime } from "./runtime.ts";

export interface Isolate extends Runtime {
  /** The root secrets. Their keys are derived once. */
  readonly secrets: Secrets;
  readonly publicUrl: string;
  /** The keys that are known to be revoked, and the callbacks that are known to be answered. */
  readonly remembered: Remembered;
  /** The limits that its requests share. */
  readonly rooms: Rooms;
  /** The database's clock. A warm isolate knows the time already, so a step takes two statements, and not three. */
  readonly clock: DatabaseClock;
  /** The deployment of this code. Its id is the platform's, else a digest of the code that it carries. */
  readonly deployment: Deployment;
  /** The minutes that it has armed (see alarm-shards.ts). */
  readonly armed: Set<number>;
  /** Whether the log has been told what it costs that something is not bound. */
  isWarned: boolean;
}

export interface IsolateOptions<Env> {
  readonly publicUrl: (env: Env) => string | undefined;
  readonly secrets: (env: Env) => readonly (string | undefined)[];
  readonly deployment?: ((env: Env) => string | undefined) | undefined;
  readonly deploymentName?: string | undefined;
  readonly workflows: readonly Workflow[];
  readonly schedules?: readonly Schedule[] | undefined;
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function newIsolate<Env>(options: IsolateOptions<Env>, env: Env, runtime: Runtime): Isolate {
  return {
    ...runtime,
    secrets: read("secrets", () => new Secrets(options.secrets(env))),
    publicUrl: read("publicUrl", () => checkUrl(options.publicUrl(env))),
    remembered: newRemembered(),
    rooms: newRooms(runtime.host),
    clock: new DatabaseClock(runtime.host),
    deployment: {
      name: options.deploymentName ?? "cloudflare",
      id: read("deployment", () => options.deployment?.(env)) ?? codeDigest(options.workflows, options.schedules),
    },
    armed: new Set(),
    isWarned: false,
  };
}

/** Calls an option with `env`. The operator reads in the log what it throws. A caller never does. */
export function read<Value>(option: string, readOption: () => Value): Value {
  try {
    return readOption();
  } catch (cause) {
    const hint = cause instanceof LayoverError ? `${cause.hint} ` : "";
    throw new LayoverError("internal", `serve's option \`${option}\`: ${messageOf(cause)}`, {
      hint: `${hint}A Worker reads it from env: set secrets by \`wrangler secret put\`, other values in wrangler.toml.`,
      cause,
    });
  }
}

/**
 * Refuses what is no address of the web. A host that ends in `.invalid` never leads anywhere (RFC 2606), and wrangler.toml
 * has such a host until somebody has chosen another.
 */
function checkUrl(url: string | undefined): string {
  const { protocol, hostname } = URL.parse(url ?? "") ?? {};
  const isWeb = protocol === "https:" || protocol === "http:";
  const isChosen = !/(^|\.)invalid\.?$/.test(hostname ?? "");
  if (url !== undefined && isWeb && isChosen) return url.replace(/\/+$/, "");
  const what = isWeb ? "leads nowhere" : "is no address";
  throw new LayoverError("invalid_request", url ? `${JSON.stringify(url)} ${what}` : "the address is missing", {
    hint: "Set PUBLIC_URL in wrangler.toml (or whatever variable it is read from) to where the world reaches this Worker, as https://….",
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
