/**
 * The parameters of a deployment in Systems Manager: secrets, the address of the database, the public URL. They are read
 * once for each environment, all in one call, since an account has 40 such calls a second, and ten thousand runs that wake
 * together are a thousand cold starts.
 *
 * The values are read again when something fails that may be their fault: a secret is missed, a parameter was
 * missing, the database refuses its password. That is at most once a minute, since anybody may send a forged token. While
 * AWS refuses, the old values stay in use.
 */
import { LayoverError } from "../../core/errors.ts";
import type { HostClock } from "../../core/ports.ts";
import { pause } from "../../core/waits.ts";
import type { Services } from "./aws/services.ts";

/** Gives a parameter by its name below the path of the deployment: `parameter("database-url")`. */
export interface Parameter {
  /** @throws LayoverError `internal`, if it does not exist */
  (name: string): string;
  /** Undefined: it does not exist. */
  readonly optional: (name: string) => string | undefined;
}

export interface ParametersOptions {
  readonly services: Pick<Services, "parameters">;
  /** The path of the deployment: `/orders`. */
  readonly path: () => string;
  readonly names: readonly string[];
  readonly host: HostClock;
  readonly random: () => number;
}

/** The longest of the pauses between tries, in milliseconds. Each is drawn up to this, so that environments part. */
const pausesMs = [500, 1_000, 2_000, 4_000];

/** How long after a reading the next one is, at the earliest. */
const rereadMs = 60_000;

export class Parameters {
  readonly #options: ParametersOptions;
  #values: ReadonlyMap<string, string> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ParametersOptions) {
    this.#options = options;
  }

  /** Reads them, unless they are known. Rejects if AWS does not answer. */
  async load(): Promise<Parameter> {
    this.#values ??= await this.#read();
    return parameterOf(this.#values, this.#options.path);
  }

  /** Reads them again, if the last reading is a minute old. Answers whether something has changed. Never rejects. */
  async reload(): Promise<boolean> {
    const { host } = this.#options;
    if (this.#values === undefined || host.monotonic() - this.#askedAt < rereadMs) return false;
    const known = this.#values;
    try {
      this.#values = await this.#ask();
    } catch {
      return false;
    }
    return !isSame(known, this.#values);
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    const { host, random } = this.#options;
    for (const pauseMs of pausesMs) {
      try {
        return await this.#ask();
      } catch {
        await pause(host, pauseMs * random());
      }
    }
    return await this.#ask();
  }

  async #ask(): Promise<ReadonlyMap<string, string>> {
    const { services, path, names, host } = this.#options;
    this.#askedAt = host.monotonic();
    const found = await services.parameters(names.map((name) => `${path()}/${name}`));
    return new Map([...found].map(([name, value]) => [name.slice(path().length + 1), value] as const));
  }
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([name, value]) => other.get(name) === value);
}

function parameterOf(values: ReadonlyMap<string, string>, path: () => string): Parameter {
  const optional = (name: string) => values.get(name);
  const parameter = (name: string): string => {
    const value = values.get(name);
    if (value !== undefined) return value;
    throw new LayoverError("internal", `the parameter ${path()}/${name} does not exist in Systems Manager`, {
      hint: `Make it: aws ssm put-parameter --type SecureString --name ${path()}/${name} --value …`,
      details: { parameter: `${path()}/${name}` },
    });
  };
  return Object.assign(parameter, { optional });
}
