/**
 * The HTTP face: the client's verbs for programs anywhere, and callbacks for people. Mount it under any prefix:
 *
 *   app.route("/layover", createApp({ client, contracts: [order], secrets, namespace: "shop", onError: report }));
 *
 * Every error is an RFC 9457 problem document with a stable `code` (see core/errors.ts).
 */
import type { Context, Hono } from "hono";
import { Hono as TinyHono } from "hono/tiny";
import type { Client } from "../client/over-postgres/client.ts";
import { revokedKey } from "../client/over-postgres/failure.ts";
import type { Contract } from "../core/contract/contract.ts";
import { LayoverError } from "../core/errors.ts";
import { defaultLimits, type Limits } from "../core/limits.ts";
import { checkNamespace } from "../core/names.ts";
import { type Authenticate, authorize, byApiKey } from "./access.ts";
import { holdingBody } from "./body-budget.ts";
import { Contracts } from "./contracts.ts";
import type { MountDashboard } from "./dashboard/mount.ts";
import { inLane } from "./lane.ts";
import type { MountOpenApi } from "./openapi/mount.ts";
import { problem, shownError, statusOf } from "./problem.ts";
import { newRemembered, type Remembered } from "./remembered.ts";
import { readWake, wakePath } from "./ring.ts";
import { newRooms, type Rooms } from "./room.ts";
import type { Route } from "./route.ts";
import { routesOf } from "./routes.ts";
import type { Secrets } from "./secrets.ts";
import type { MountWebhooks } from "./webhooks/mount.ts";

export interface AppOptions {
  readonly client: Client;
  /** What may be started here, and what signals and callbacks are checked against. */
  readonly contracts: readonly Contract[];
  readonly secrets: Secrets;
  readonly namespace: string;
  /** The environment of this server. A key that names another one is refused. */
  readonly environment?: string | undefined;
  /** Finds out who calls. Default: whoever has an API key (see api-key.ts). */
  readonly authenticate?: Authenticate | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** The rooms of this process, with its clock. Default: rooms for this app alone. */
  readonly rooms?: Rooms | undefined;
  /** Makes the routes of webhooks. Default: there are none. */
  readonly webhooks?: MountWebhooks | undefined;
  /** Makes the pages of the dashboard. Default: there is none. */
  readonly dashboard?: MountDashboard | undefined;
  /** The address at which the world reaches this app, with its prefix. Only the dashboard asks for it. */
  readonly publicUrl?: string | undefined;
  /** Makes the route of the OpenAPI document. Default: there is none. */
  readonly openapi?: MountOpenApi | undefined;
  /** The routes that judge runs by the code of this deployment. Default: there are none. */
  readonly replayCheck?: readonly Route[] | undefined;
  /** What earlier apps of this process remember of keys and callbacks. Default: nothing. */
  readonly remembered?: Remembered | undefined;
  /** Whether this server is about to end, so that nobody should send requests to it. Default: never. */
  readonly isClosing?: (() => boolean) | undefined;
  /** Is told of every error that is not the caller's. */
  readonly onError: (error: unknown, request: Request) => void;
}

/** How many bytes a body may have besides the value in it. */
const slackBytes = 64 * 1024;

/** @throws LayoverError `invalid_name`, for the namespace */
export function createApp(options: AppOptions): Hono {
  const { client, limits, isClosing = () => false, onError } = options;
  const namespace = checkNamespace(options.namespace);
  const { authenticate = byApiKey({ ...options, namespace }), remembered = newRemembered() } = options;
  const contracts = new Contracts(options.contracts);
  const maxBytes = (limits?.valueBytes ?? defaultLimits.valueBytes) + slackBytes;
  const given = { secrets: options.secrets, namespace, maxBytes };
  const webhooks = options.webhooks?.(given) ?? [];
  const { environment, publicUrl } = options;
  const terms = { contracts, maxBytes, answered: remembered.answeredCallbacks, webhooks, isClosing };
  const api = [...routesOf(terms), ...(options.replayCheck ?? [])];
  const document = options.openapi?.({ routes: api, contracts: options.contracts });
  const routes: readonly Route[] = [
    ...api,
    ...(document === undefined ? [] : [document]),
    ...(options.dashboard?.({ ...given, environment, publicUrl, authenticate, contracts, webhooks }) ?? []),
  ];

  const { heavy, bodies } = options.rooms ?? newRooms();
  const { revokedKeys } = remembered;

  const visited = async (route: Route, { req }: Context): Promise<Response> => {
    const request = req.raw;
    try {
      const query = new URL(req.url).searchParams;
      const scopes = [route.scope ?? [], (query.has("wait") ? route.scopeToWait : undefined) ?? []].flat();
      const caller =
        route.scope === undefined ? undefined : await authorize(request, scopes, route.authenticate ?? authenticate);
      const answer = (client: Client) =>
        route.answer({
          request,
          client,
          param: (name) => req.param(name) ?? "",
          query,
          seesStacks: caller?.scopes.includes("admin") ?? false,
          caller,
        });
      const answered = () =>
        caller?.keyId === undefined
          ? answer(client)
          : byKey(caller.keyId, caller.sessionId, { client, revokedKeys, answer });
      return await holdingBody(request, { bodies, isKnown: caller !== undefined }, () =>
        route.isHeavy ? inLane(heavy, answered, request.signal) : answered(),
      );
    } catch (error) {
      const isOurs = statusOf(shownError(error)) >= 500 && !request.signal.aborted;
      if (isOurs) onError(error, request);
      return route.showError === undefined ? problem(shownError(error)) : await route.showError(error, request);
    }
  };

  const app = new TinyHono();
  app.post(wakePath, async ({ req: { raw: request } }) => {
    try {
      await client.ring(await readWake(request, { secrets: options.secrets, namespace, nowMs: bodies.host.now() }));
      return new Response(null, { status: 204 });
    } catch (error) {
      const shown = shownError(error);
      if (statusOf(shown) >= 500) onError(error, request);
      return problem(shown);
    }
  });
  for (const [path, atPath] of Map.groupBy(routes, ({ path }) => path)) {
    for (const route of atPath) app.on(route.method, path, (context) => visited(route, context));
    app.all(path, ({ req }) => problem(wrongMethod(req.method, atPath)));
  }
  app.notFound(notFound);
  return app;
}

/** Answers for this key. Each statement looks whether it was revoked, or its session has ended. Once that is known, no statement is sent. */
async function byKey(
  keyId: string,
  sessionId: string | undefined,
  {
    client,
    revokedKeys,
    answer,
  }: {
    readonly client: Client;
    readonly revokedKeys: Remembered["revokedKeys"];
    readonly answer: (client: Client) => Promise<Response>;
  },
): Promise<Response> {
  const used = sessionId ?? keyId; // the end of a session says nothing of its key
  if (revokedKeys.get(keyId) || revokedKeys.get(used)) throw revokedKey();
  try {
    return await answer(client.by(keyId, sessionId));
  } catch (error) {
    if (error instanceof LayoverError && error.code === "unauthorized") revokedKeys.set(used, true);
    throw error;
  }
}

function wrongMethod(method: string, routes: readonly Route[]): LayoverError {
  const allow = routes.flatMap((route) => (route.method === "GET" ? ["GET", "HEAD"] : [route.method])).join(", ");
  return new LayoverError("method_not_allowed", `${method.slice(0, 20)} is not understood here`, {
    hint: `Use ${allow}.`,
    details: { allow },
  });
}

/** Answers a request that no route fits. An app that is mounted into another one leaves that to the other. */
export function notFound({ req }: Context): Response {
  const what = `there is nothing at ${JSON.stringify(req.path.slice(0, 100))}`;
  return problem(
    new LayoverError("not_found", what, {
      hint: "Look at the path: it begins with /v1/, /callbacks/, /webhooks/ or /health after the prefix of this app.",
    }),
  );
}
