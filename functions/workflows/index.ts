import { orderWorkflow } from "./order.ts";
import { nightly, reportWorkflow } from "./report.ts";

/** All that this deployment carries out. */
export const workflows = [orderWorkflow, reportWorkflow];
/** Schedules: each starts runs at the instants of its calendar. */
export const schedules = [nightly];
