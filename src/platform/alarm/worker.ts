/** The Worker around the alarms: it verifies who asks, before anything is stored, and watches over the objects. */
import { toBase64Url } from "../../core/base64.ts";
import { LayoverError } from "../../core/errors.ts";
import type { WallClock } from "../../core/ports.ts";
import { type AlarmSigning, appForm, readOrder, verifyStatus } from "../../http/alarm.ts";
import { problem, shownError, statusOf } from "../../http/problem.ts";
import { DerivedKeys } from "../../http/secrets.ts";
import type { AppMessage } from "./app-alarm.ts";
import { type App, appIds, appOf } from "./apps.ts";

/** The bindings and variables of the Worker. Beside them there is a secret for each app: `orders` has ORDERS_KEY. */
export interface AlarmEnv {
  /** The Durable Objects of the class `AppAlarm`. */
  readonly ALARM: { getByName(name: string): { fetch(url: string, request: RequestInit): Promise<Response> } };
  /** The addresses of the apps, by their ids. */
  readonly APPS: Readonly<Record<string, string>> | string;
}

interface Runtime {
  readonly host: WallClock;
  readonly onError: (error: unknown) => void;
}

const path = new RegExp(`^/apps/(${appForm})/(arm|status)$`);

async function onRequest(request: Request, env: AlarmEnv, { host, onError }: Runtime): Promise<Response> {
  try {
    const { pathname } = new URL(request.url);
    if (pathname === "/health") return Response.json({ ok: true });
    const [, id = "", verb] = path.exec(pathname) ?? [];
    const method = verb === "arm" ? "POST" : "GET";
    if (verb === undefined) throw notFound();
    if (request.method !== method) throw wrongMethod(method);
    const app = appOf(env, id) ?? unknownApp(id);
    return verb === "arm" ? await arm(request, app, env, host) : await status(request, app, env, host);
  } catch (error) {
    const shown = withHint(shownError(error));
    if (statusOf(shown) >= 500) onError(error);
    return problem(shown);
  }
}

async function arm(request: Request, app: App, env: AlarmEnv, host: WallClock): Promise<Response> {
  const order = await readOrder(request, signingOf(app, host));
  await ask(env, { app: app.id, order });
  return new Response(null, { status: 204 });
}

async function status(request: Request, app: App, env: AlarmEnv, host: WallClock): Promise<Response> {
  await verifyStatus(request, signingOf(app, host));
  return await ask(env, { app: app.id, status: true });
}

/** Has each object look after its alarm, which the runtime may have dropped. */
async function onCron(env: AlarmEnv): Promise<void> {
  await Promise.all(appIds(env).map((app) => ask(env, { app, look: true })));
}

async function ask(env: AlarmEnv, message: AppMessage): Promise<Response> {
  const request = { method: "POST", body: JSON.stringify(message) };
  const response = await env.ALARM.getByName(`app-${message.app}`).fetch("https://alarm.internal/", request);
  if (!response.ok) throw new Error(`the Durable Object of ${message.app} answered ${response.status}`);
  return response;
}

function signingOf({ secrets, id }: App, host: WallClock): AlarmSigning {
  return { secrets, app: id, nowMs: host.now() };
}

function notFound(): LayoverError {
  return new LayoverError("not_found", "there is no such path", {
    hint: "A deployment asks for /apps/ID/arm, and `layover doctor` for /apps/ID/status.",
  });
}

function wrongMethod(allow: string): LayoverError {
  return new LayoverError("method_not_allowed", `this path takes ${allow} alone`, {
    hint: `Send a ${allow} request.`,
    details: { allow },
  });
}

/** An app whose key nobody has. So a stranger does not learn which apps there are: what is asked of it fails as any forgery. */
function unknownApp(id: string): App {
  const key = toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
  return { id, url: "", secrets: new DerivedKeys("alarm", [key]) };
}

/** Says to whoever set up the alarm what a signature may lack, for a known and an unknown app alike. */
function withHint(error: LayoverError): LayoverError {
  if (error.code !== "unauthorized") return error;
  return new LayoverError("unauthorized", error.message, {
    hint: "Name the app in the variable APPS of the Worker, and give the Worker its key.",
  });
}

/** Makes the Worker. A test gives it another clock, and hears what goes wrong. */
export function alarmWorker(host: WallClock, onError: Runtime["onError"] = print) {
  return {
    fetch: (request: Request, env: AlarmEnv) => onRequest(request, env, { host, onError }),
    scheduled: (_: unknown, env: AlarmEnv) => onCron(env),
  };
}

function print(error: unknown): void {
  console.error("error while answering:", error);
}
