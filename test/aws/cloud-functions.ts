/** The functions of a deployment on AWS: their versions, their environments, and what has become of their invocations. */
import type { WallClock } from "../../src/core/ports.ts";
import { type Ended, Environment, type FunctionSettings } from "./environments.ts";
import type { Resolved } from "./template.ts";
import { AwsError } from "./wire.ts";

export interface FunctionOptions {
  /** The folder of the bundle. */
  readonly code: string;
  /** Variables of all functions, beside those of the template. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The arguments of Node that begin an environment. Default: bootstrap.mjs. */
  readonly runtime?: readonly string[];
}

interface CloudFunctionsOptions extends FunctionOptions {
  readonly template: Resolved;
  /** The URL of the services of AWS. */
  readonly endpoint: string;
  readonly clock: WallClock;
}

export interface Invoked extends Ended {
  readonly name: string;
  readonly event: unknown;
}

export class CloudFunctions {
  /** All invocations that have ended. */
  readonly invoked: Invoked[] = [];
  /** How many invocations have not ended yet. What one has done may be seen before it ends. */
  atWork = 0;
  /** The lines that functions have written. */
  readonly output: string[] = [];
  readonly #options: CloudFunctionsOptions;
  #functions: ReadonlyMap<string, FunctionSettings>;
  /** Another version of all functions, which takes each second invocation. */
  #canary: ReadonlyMap<string, FunctionSettings> | undefined;
  #invocations = 0;
  readonly #environments = new Map<string, Environment[]>();

  constructor(options: CloudFunctionsOptions) {
    this.#options = options;
    this.#functions = new Map(
      [...options.template.all("AWS::Lambda::Function").values()]
        .filter(({ Handler }) => /^index\.(http|turns|tick|forward)$/.test(String(Handler)))
        .map((properties) => {
          const settings = this.#settingsOf(properties);
          return [settings.name, settings];
        }),
    );
  }

  /** The settings of a function, by its name. */
  settingsOf(name: string): FunctionSettings | undefined {
    return this.#functions.get(name);
  }

  /** Updates all functions: they have these variables, too. What is at work goes on as it was; no event is handed to its process again. */
  update(variables: Readonly<Record<string, string>>): void {
    this.#functions = this.#updated(variables);
    this.#canary = undefined;
    for (const all of this.#environments.values()) {
      for (const environment of all) environment.retire();
    }
  }

  /** Publishes another version of all functions, with these variables, and gives it half of an alias: each second invocation. */
  share(variables: Readonly<Record<string, string>>): void {
    this.#canary = this.#updated(variables);
  }

  #updated(variables: Readonly<Record<string, string>>): ReadonlyMap<string, FunctionSettings> {
    return new Map(
      [...this.#functions].map(([name, settings]) => [
        name,
        { ...settings, variables: { ...settings.variables, ...variables } },
      ]),
    );
  }

  /** Kills the processes of a function, or those of them that are at work. */
  kill(handler: string, which: "all" | "at work" = "all"): number {
    const all = this.#environments.get(this.named(handler)) ?? [];
    const killed = all.filter((environment) => environment.isAlive && (which === "all" || environment.isAtWork));
    for (const environment of killed) environment.kill();
    return killed.length;
  }

  /** Id of the process of a function that was used last. Undefined: none is alive. */
  pid(handler: string): number | undefined {
    return (this.#environments.get(this.named(handler)) ?? []).findLast(({ isAlive }) => isAlive)?.pid;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#environments.values()].flat().map((environment) => environment.close()));
  }

  #settingsOf({
    FunctionName,
    Handler,
    Role,
    Timeout,
    Environment,
  }: Readonly<Record<string, unknown>>): FunctionSettings {
    const { Variables } = Environment as { readonly Variables: Readonly<Record<string, string>> };
    return {
      name: String(FunctionName),
      handler: String(Handler),
      role: String(Role).split("/").at(-1) ?? "",
      timeoutMs: Number(Timeout) * 1_000,
      variables: { ...Variables, AWS_ENDPOINT_URL: this.#options.endpoint, ...this.#options.variables },
      code: this.#options.code,
      clock: this.#options.clock,
    };
  }

  /** The name of a function, by the name of its handler. */
  named(handler: string): string {
    const found = [...this.#functions.values()].find((settings) => settings.handler === `index.${handler}`);
    if (found === undefined) throw new Error(`the template has no function ${handler}`);
    return found.name;
  }

  /** The name of a function, by its name or ARN. */
  nameOf(nameOrArn: string): string {
    const name = nameOrArn.split(":").at(-1) ?? "";
    if (!this.#functions.has(name)) throw new AwsError("ResourceNotFoundException", 404, `no function ${nameOrArn}`);
    return name;
  }

  /** Hands an event to a free environment, or to a new one. */
  async carryOut(name: string, event: unknown): Promise<Ended> {
    this.#invocations += 1;
    const { variables, ...settings } = this.#versionFor(name, this.#invocations);
    const all = this.#environments.get(name) ?? [];
    this.#environments.set(name, all);
    let environment = all.findLast((each) => each.isAlive && !each.isAtWork && each.settings.variables === variables);
    if (environment === undefined) {
      const { runtime } = this.#options;
      environment = new Environment({ ...settings, variables, runtime }, (line) => this.output.push(line));
      all.push(environment);
    }
    this.atWork += 1;
    const ended = await environment.invoke(event).finally(() => {
      this.atWork -= 1;
    });
    this.invoked.push({ ...ended, name: settings.handler.slice("index.".length), event });
    return ended;
  }

  #versionFor(name: string, invocation: number): FunctionSettings {
    const settings = (invocation % 2 === 0 ? this.#canary : undefined)?.get(name) ?? this.#functions.get(name);
    if (settings === undefined) throw new Error(`there is no function ${name}`);
    return settings;
  }
}
