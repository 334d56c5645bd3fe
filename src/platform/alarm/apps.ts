/**
 * The apps for which the alarm rings, as the Worker's own configuration names them. Where it rings is fixed here, and no
 * message can change it. So nobody can have it send requests elsewhere.
 *
 *     [vars.APPS]
 *     orders = "https://orders.example.com"     # and the secret ORDERS_KEY, made by `npx layover keys alarm`
 */
import { LayoverError } from "../../core/errors.ts";
import { appForm } from "../../http/alarm.ts";
import { DerivedKeys, type Signer } from "../../http/secrets.ts";

export interface App {
  readonly id: string;
  /** The address of the deployment, with its prefix, without a slash at the end. */
  readonly url: string;
  readonly secrets: Signer;
}

/** The ids of all apps. @throws LayoverError `internal` */
export function appIds(env: object): readonly string[] {
  return Object.keys(variable(env)).filter((id) => new RegExp(`^${appForm}$`).test(id));
}

/** Undefined: the configuration does not name it. @throws LayoverError `internal`, where it names it wrongly */
export function appOf(env: object, id: string): App | undefined {
  if (!appIds(env).includes(id)) return undefined;
  const url: unknown = Reflect.get(variable(env), id);
  const name = `${id.replaceAll("-", "_").toUpperCase()}_KEY`;
  const { protocol } = URL.parse(String(url)) ?? {};
  if (typeof url !== "string" || (protocol !== "https:" && protocol !== "http:"))
    throw wrong(`APPS: ${JSON.stringify(url)} is no address for ${id}`, "Write it as https://….");
  try {
    const secrets = new DerivedKeys("alarm", [textIn(env, name), textIn(env, `${name}_OLD`)]);
    return { id, url: url.replace(/\/+$/, ""), secrets };
  } catch (cause) {
    if (!(cause instanceof LayoverError)) throw cause;
    throw wrong(`${name}: ${cause.message}`, cause.hint);
  }
}

function variable(env: object): object {
  const apps: unknown = Reflect.get(env, "APPS");
  const value: unknown = typeof apps === "string" ? parsed(apps) : apps;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw wrong("APPS is no table of apps", 'Write in wrangler.toml: [vars.APPS] and orders = "https://…".');
}

function textIn(env: object, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === "string" ? value : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wrong(message: string, hint: string): LayoverError {
  return new LayoverError("internal", message, { hint });
}
