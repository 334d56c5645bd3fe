/** What a process keeps from one request to the next: its settings, the connection, the database's time, what is armed. */
import { LayoverError } from "../../core/errors.ts";
import { defaultEnvironment } from "../../core/names.ts";
import type { Query, WallClock } from "../../core/ports.ts";
import { codeDigest } from "../../engine/digest.ts";
import type { Deployment } from "../../engine/options.ts";
import { type AlarmAddress, alarmAddress } from "../../http/alarm.ts";
import { newRemembered } from "../../http/remembered.ts";
import { newRooms, type Rooms } from "../../http/room.ts";
import { Secrets } from "../../http/secrets.ts";
import type { Variables } from "../../http/webhooks/verifier.ts";
import { DatabaseClock } from "../../postgres/database-clock.ts";
import { Rests } from "../invocation/rests.ts";
import type { FetchOptions } from "./options.ts";
import { RemoteAlarm } from "./remote-alarm.ts";
import type { Runtime } from "./runtime.ts";

/** What the options of `serve` have answered. */
interface Loaded {
  readonly secrets: Secrets;
  readonly publicUrl: string;
  readonly database: Query;
  readonly environment: string;
  readonly deployment: Deployment;
  /** Undefined: there is none. */
  readonly alarm: { readonly address: AlarmAddress; readonly remote: RemoteAlarm } | undefined;
}

export class Process {
  readonly remembered = newRemembered();
  readonly rooms: Rooms;
  readonly variables: Variables;
  readonly #options: FetchOptions;
  readonly #runtime: Runtime;
  readonly #rests: Rests;
  #loaded: Loaded | undefined;
  #clock: DatabaseClock;
  /** How many requests are under way, with what goes on after their answers. */
  #busy = 0;
  /** How far the database's clock was ahead of the host's when both were known. */
  #aheadMs = 0;

  constructor(options: FetchOptions, runtime: Runtime) {
    this.#options = options;
    this.#runtime = runtime;
    this.rooms = newRooms(runtime.host);
    this.variables = runtime.env;
    this.#rests = new Rests(runtime.host);
    this.#clock = new DatabaseClock(runtime.host);
  }

  get host(): WallClock {
    return this.#runtime.host;
  }

  /** The database's time, as far as it is known. */
  get clock(): DatabaseClock {
    return this.#clock;
  }

  /** What the database's time probably is. */
  guess(): number {
    return this.host.now() + this.#aheadMs;
  }

  /** Notes that a request has come. */
  wake(): void {
    this.#busy += 1;
    if (this.#busy > 1) return;
    const { isLong = false, isOff = false } = this.#rests.end() ?? {};
    if (isOff) this.#loaded?.alarm?.remote.forget();
    // A call that does not know the time asks for it first, by a statement that changes nothing.
    if (isLong) this.#clock = new DatabaseClock(this.host);
  }

  /** Notes that a request has ended, with what went on after its answer. */
  rest(): void {
    this.#busy -= 1;
    if (this.#busy > 0) return;
    const now = this.#rests.begin();
    if (this.#clock.isKnown) this.#aheadMs = this.#clock.now() - now;
  }

  /** Reads the options, and opens the database, unless that was done before. @throws LayoverError `internal` */
  load(): Loaded {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  #read(): Loaded {
    const { host, send, env } = this.#runtime;
    const { workflows, schedules, secrets, publicUrl, database, alarm, environment, deployment, deploymentName } =
      this.#options;
    const roots = read("secrets", () => new Secrets(secrets()));
    const id =
      read("deployment", () => deployment?.()) || env["LAYOVER_DEPLOYMENT"] || codeDigest(workflows, schedules);
    const address = read("alarm", () => addressIn(alarm?.()));
    return {
      secrets: roots,
      publicUrl: read("publicUrl", () => checkUrl(publicUrl())),
      database: read("database", () => this.#rests.impatient(database())),
      environment: read("environment", () => environment?.()) || env["LAYOVER_ENVIRONMENT"] || defaultEnvironment,
      deployment: { name: deploymentName ?? "fetch", id },
      alarm: address && {
        address,
        remote: new RemoteAlarm({ address, secrets: roots, deployment: id, host, send }),
      },
    };
  }
}

/** Calls an option. The operator reads in the log what it throws. A caller never does. */
function read<Value>(option: string, readOption: () => Value): Value {
  try {
    return readOption();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new LayoverError("internal", `serve's option \`${option}\`: ${message}`, {
      hint: cause instanceof LayoverError ? cause.hint : "It usually reads a variable: look whether the host has it.",
      cause,
    });
  }
}

/** An option that was given, and finds no address, is a mistake: nothing would wake this deployment. */
function addressIn(text: string | undefined): AlarmAddress | undefined {
  return text?.trim() ? alarmAddress(text.trim()) : undefined;
}

function checkUrl(url: string | undefined): string {
  const { protocol } = URL.parse(url ?? "") ?? {};
  if (url !== undefined && (protocol === "https:" || protocol === "http:")) return url.replace(/\/+$/, "");
  throw new LayoverError("invalid_request", url ? `${JSON.stringify(url)} is no address` : "the address is missing", {
    hint: "Set PUBLIC_URL (or whatever variable it is read from) to where the world reaches this deployment, as https://….",
  });
}
