/** All routes of an app, as one table: the app answers them, and the OpenAPI document tells of them. */

import { callbackRoutes } from "./callbacks.ts";
import type { Contracts } from "./contracts.ts";
import type { Descriptions } from "./description.ts";
import { exportRoute } from "./exports.ts";
import { deleteRoute, operationRoutes } from "./operations.ts";
import type { Remembered } from "./remembered.ts";
import { repairRoutes } from "./repairs.ts";
import { respondTo } from "./respond.ts";
import type { Route } from "./route.ts";
import { runCallbackRoutes } from "./run-callbacks.ts";
import { runRoutes } from "./runs.ts";
import { scheduleRoutes } from "./schedules.ts";
import { signalRoutes } from "./signals.ts";
import { startRoutes } from "./starts.ts";
import { upgradeRoute } from "./upgrades.ts";

export interface RouteTerms {
  readonly contracts: Contracts;
  /** The most bytes of a body. */
  readonly maxBytes: number;
  readonly answered: Remembered["answeredCallbacks"];
  /** The routes of the deployment's webhooks. */
  readonly webhooks?: readonly Route[] | undefined;
  readonly isClosing: () => boolean;
}

export function routesOf({ contracts, maxBytes, answered, webhooks = [], isClosing }: RouteTerms): readonly Route[] {
  return [
    ...startRoutes(contracts, maxBytes),
    ...runRoutes(contracts),
    ...signalRoutes(contracts, maxBytes),
    ...operationRoutes(contracts, maxBytes),
    ...repairRoutes(contracts, maxBytes),
    deleteRoute,
    exportRoute(maxBytes),
    upgradeRoute(maxBytes),
    ...scheduleRoutes(contracts, maxBytes),
    ...runCallbackRoutes(contracts, maxBytes),
    ...callbackRoutes({ contracts, maxBytes, answered }),
    ...webhooks,
    wakeRoute,
    healthRoute(isClosing),
  ];
}

const wakeRoute: Route = {
  method: "POST",
  path: "/v1/wake",
  scope: "admin",
  answer: async ({ client, request }) => {
    await client.wake();
    return respondTo(request, { outcome: "woken" });
  },
};

function healthRoute(isClosing: () => boolean): Route {
  return {
    method: "GET",
    path: "/health",
    answer: async ({ request }) =>
      isClosing()
        ? respondTo(request, { status: "closing" }, { status: 503, headers: { "retry-after": "1" } })
        : respondTo(request, { status: "ok" }),
  };
}

export function ownDescriptions(): Descriptions {
  return {
    "POST /v1/wake": {
      id: "wake",
      does: "Has the scheduler look at once at what is due.",
      answers: { 200: "Woken" },
    },
    "GET /health": {
      id: "getHealth",
      does: "Says that the server answers: 200, or 503 while it is about to end.",
      answers: { 200: "Health", 503: "Health" },
      needsNoDatabase: true,
    },
  };
}
