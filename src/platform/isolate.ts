/**
 * What an isolate keeps from one request to the next: settings and numbers. workerd allows nothing else: a connection or
 * a promise belongs to the request that made it, and whoever else awaits it hangs or is ended.
 */
import { LayoverError } from "../core/errors.ts";
import { Secrets } from "../http/secrets.ts";
import { DatabaseClock, hostClock } from "../postgres/clock.ts";

export interface Isolate {
  /** Its keys are derived once. */
  readonly secrets: Secrets;
  readonly publicUrl: string;
  /** So that a warm isolate's call asks for no time: two statements a step, and not three. */
  readonly clock: DatabaseClock;
  /** Whether a tick of its own has succeeded. */
  hasTicked: boolean;
}

export interface IsolateOptions<Env> {
  readonly publicUrl: (env: Env) => string | undefined;
  readonly secrets: (env: Env) => readonly (string | undefined)[];
}

/** @throws LayoverError `internal`, naming the option that finds nothing to use in `env` */
export function newIsolate<Env>(options: IsolateOptions<Env>, env: Env): Isolate {
  return {
    secrets: read("secrets", () => new Secrets(options.secrets(env))),
    publicUrl: read("publicUrl", () => checkUrl(options.publicUrl(env))),
    clock: new DatabaseClock(hostClock),
    hasTicked: false,
  };
}

/** Calls an option with `env`. What it throws is the operator's to read, never a caller's. */
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

function checkUrl(url: string | undefined): string {
  const protocol = url === undefined ? undefined : URL.parse(url)?.protocol;
  if (url !== undefined && (protocol === "https:" || protocol === "http:")) return url.replace(/\/+$/, "");
  throw new LayoverError("invalid_request", url ? `${JSON.stringify(url)} is no address` : "the address is missing", {
    hint: "Set the variable that it is read from, such as PUBLIC_URL, to where the world reaches this Worker, as https://….",
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
