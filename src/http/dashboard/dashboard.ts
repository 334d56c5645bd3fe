/** Makes the dashboard. Whoever imports this file loads all of its pages. */
import { LayoverError } from "../../core/errors.ts";
import type { Route } from "../route.ts";
import { actRoutes } from "./acts/routes.ts";
import { assetRoutes } from "./assets.ts";
import { deliveryPages } from "./deliveries.ts";
import type { Dashboard, DashboardTerms } from "./mount.ts";
import { runPages } from "./run/pages.ts";
import { runsPage } from "./runs/runs-page.ts";
import { schedulePages } from "./schedules.ts";
import { type Screens, screens } from "./screens.ts";
import { signInRoutes } from "./sign-in.ts";
import { workflowPages } from "./workflows.ts";

export interface DashboardOptions {
  /** What stands at the top of each page, such as "Shop, production". Default: "layover". */
  readonly title?: string | undefined;
  /**
   * The address of your own sign-in page, where the `authenticate` of `serve` knows people by a session of yours. Default: a
   * page that asks for an API key.
   */
  readonly signIn?: string | undefined;
}

/**
 * Makes the dashboard: pages at `/dashboard/`, after the prefix. It shows what the caller's scopes allow. A deployment that
 * does not mount it loads nothing of it.
 *
 * @throws LayoverError `invalid_request`, for a `signIn` that is no address of the web
 * @example export default serve<Env>({ workflows, dashboard: dashboard({ title: "Shop, production" }), … });
 */
export function dashboard(options: DashboardOptions = {}): Dashboard {
  const { title = "layover", signIn } = options;
  checkSignIn(signIn);
  return { mount: (terms) => routesOf(terms, screens(terms, { title, signIn })) };
}

function routesOf(terms: DashboardTerms, made: Screens): readonly Route[] {
  return [
    ...assetRoutes,
    ...signInRoutes(terms, made),
    runsPage(terms, made),
    ...runPages(terms, made),
    ...workflowPages(terms, made),
    ...schedulePages(made),
    ...deliveryPages(terms, made),
    ...actRoutes(terms, made),
  ];
}

function checkSignIn(signIn: string | undefined): void {
  if (signIn === undefined || /^(https?:\/\/|\/(?![/\\]))/.test(signIn)) return;
  throw new LayoverError("invalid_request", `signIn: ${JSON.stringify(signIn)} is no address of the web`, {
    hint: "Give the whole address of your sign-in page, as https://…, or its path on this host, as /sign-in.",
    details: { field: "signIn" },
  });
}
