/**
 * What a Lambda environment keeps from one invocation to the next: the parameters, the connection to the database, the
 * database's time, and the schedules that it has armed. Lambda freezes an environment between two invocations, for seconds
 * or hours. Clocks may stand still meanwhile, and connections may die without a word. So each invocation looks first how
 * long it was away, and forgets what may no longer be true.
 */
import { LayoverError } from "../../core/errors.ts";
import type { Query, WallClock } from "../../core/ports.ts";
import { newRemembered } from "../../http/remembered.ts";
import { newRooms, type Rooms } from "../../http/room.ts";
import { Secrets } from "../../http/secrets.ts";
import type { Variables } from "../../http/webhooks/verifier.ts";
import { DatabaseClock } from "../../postgres/database-clock.ts";
import { Rests } from "../invocation/rests.ts";
import type { LambdaOptions } from "./options.ts";
import type { Parameter, Parameters } from "./parameters.ts";
import { Armed } from "./schedules.ts";

export interface Loaded {
  readonly secrets: Secrets;
  readonly publicUrl: string;
  readonly database: Query;
  /** What webhooks read: further parameters, each by its name as a variable's. `stripe-secret` is `STRIPE_SECRET`. */
  readonly variables: Variables;
}

export class Environment {
  readonly remembered = newRemembered();
  /** Lambda sends an environment one event at a time, so a request has them to itself. */
  readonly rooms: Rooms;
  readonly armed = new Armed();
  readonly #options: Pick<LambdaOptions, "database" | "secrets" | "publicUrl" | "parameters">;
  readonly #parameters: Parameters;
  readonly #host: WallClock;
  #clock: DatabaseClock;
  #loaded: Loaded | undefined;
  readonly #rests: Rests;
  /** How far the database's clock was ahead of the host's when both were known. */
  #aheadMs = 0;

  constructor(
    options: Pick<LambdaOptions, "database" | "secrets" | "publicUrl" | "parameters">,
    parameters: Parameters,
    host: WallClock,
  ) {
    this.#options = options;
    this.#parameters = parameters;
    this.#host = host;
    this.rooms = newRooms(host);
    this.#clock = new DatabaseClock(host);
    this.#rests = new Rests(host);
  }

  /** The database's time, as far as it is known. */
  get clock(): DatabaseClock {
    return this.#clock;
  }

  /** What the database's time probably is. */
  guess(): number {
    return this.#host.now() + this.#aheadMs;
  }

  /** Begins an invocation. */
  wake(): void {
    const { isLong = false, isOff = false } = this.#rests.end() ?? {};
    if (isOff) this.armed.clear();
    // A call that does not know the time asks for it first, by a statement that changes nothing.
    if (isLong) this.#clock = new DatabaseClock(this.#host);
  }

  /** Notes when an invocation has ended. */
  rest(): void {
    const now = this.#rests.begin();
    if (this.#clock.isKnown) this.#aheadMs = this.#clock.now() - now;
  }

  /** Reads the parameters and opens the database, unless that was done before. @throws LayoverError `internal` */
  async load(): Promise<Loaded> {
    this.#loaded ??= await this.#open();
    return this.#loaded;
  }

  /**
   * Reads the parameters again, if the last reading is a minute old. Answers whether they have changed. Whoever fails for a
   * reason that may be theirs calls it: the database's password, or a secret, may have been replaced. Never rejects.
   */
  async reload(): Promise<boolean> {
    const hasChanged = await this.#parameters.reload();
    if (hasChanged) this.#loaded = undefined;
    return hasChanged;
  }

  /** A parameter that was missing may have been made meanwhile. */
  async #open(): Promise<Loaded> {
    const parameter = await this.#parameters.load();
    try {
      return this.#make(parameter);
    } catch (error) {
      if (!(await this.reload())) throw error;
      return this.#make(await this.#parameters.load());
    }
  }

  #make(parameter: Parameter): Loaded {
    const { database, secrets, publicUrl, parameters = [] } = this.#options;
    const roots = secrets?.(parameter) ?? [parameter("secret"), parameter.optional("secret-old")];
    return {
      secrets: new Secrets(roots),
      publicUrl: checkUrl(publicUrl?.(parameter) ?? parameter("public-url")),
      database: this.#rests.impatient(database(parameter)),
      variables: Object.fromEntries(parameters.map((name) => [variableOf(name), parameter.optional(name)])),
    };
  }
}

function variableOf(parameter: string): string {
  return parameter.replaceAll(/[^A-Za-z0-9]/g, "_").toUpperCase();
}

function checkUrl(url: string): string {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol === "https:" || protocol === "http:") return url.replace(/\/+$/, "");
  throw new LayoverError("internal", "the public URL of this deployment is no address", {
    hint: "Set the parameter public-url, or serve's option `publicUrl`, to where the world reaches the function http: https://….",
  });
}
