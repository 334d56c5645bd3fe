/** The type of an act, which a button of the dashboard asks for, and functions that several acts use. */
import type { Contract } from "../../../core/contract/contract.ts";
import type { FieldErrors } from "../../callback-form.ts";
import type { Route } from "../../route.ts";
import type { DashboardTerms } from "../mount.ts";
import type { DashboardVisit } from "../screens.ts";
import type { Texts } from "./texts.ts";

/** What is told of an act that was done: a sentence, and maybe another page to look at. */
interface Done {
  readonly said?: string;
  /** The page, relative to the dashboard's root. */
  readonly to?: string;
}

export type Act = (visit: DashboardVisit, texts: Texts) => Promise<Done | { readonly errors: FieldErrors }>;

/** Makes the route of an act. The path is relative to the dashboard's root. */
export type ActRoute = (path: string, scope: NonNullable<Route["scope"]>, does: Act) => Route;

/** What the form of an operation has said. */
export function asked(texts: Texts): { readonly reason: string | undefined; readonly callId: string | undefined } {
  return { reason: texts.of("reason"), callId: texts.of("call") };
}

export async function contractOf(
  client: DashboardVisit["client"],
  runId: string,
  { contracts }: DashboardTerms,
): Promise<Contract> {
  const { workflow, version } = await client.get(runId);
  return contracts.closest(workflow, version);
}
