/**
 * The dashboard: pages on which people look at runs, start them, answer them and repair them.
 *
 *   import { dashboard } from "layover/dashboard";
 *   // serve({ workflows, dashboard: dashboard() })       GET /dashboard/
 */
export { type DashboardOptions, dashboard } from "./dashboard.ts";
export type { Dashboard } from "./mount.ts";
