/** Gives the dashboard of a deployment to its app. It loads nothing of it: the dashboard brings its own routes. */
import type { Authenticate } from "../access.ts";
import type { Contracts } from "../contracts.ts";
import type { Route } from "../route.ts";
import type { Secrets } from "../secrets.ts";

/** What the app gives to its dashboard. */
export interface DashboardTerms {
  readonly secrets: Secrets;
  readonly namespace: string;
  readonly environment: string | undefined;
  /** The address at which the world reaches this app, with its prefix. */
  readonly publicUrl: string | undefined;
  /** Finds out who calls the API. The dashboard asks it about whoever has no session. */
  readonly authenticate: Authenticate;
  readonly contracts: Contracts;
  /** The routes of webhooks. Empty: the deployment has none. */
  readonly webhooks: readonly Route[];
  /** The most bytes of a body. */
  readonly maxBytes: number;
}

/** Makes the routes of the dashboard. */
export type MountDashboard = (terms: DashboardTerms) => readonly Route[];

/** The dashboard, as `serve` takes it: `dashboard()` of `layover/dashboard`. */
export interface Dashboard {
  readonly mount: MountDashboard;
}

/** The path of the dashboard, after the prefix of the app. */
export const dashboardPath = "/dashboard";
