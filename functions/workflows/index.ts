import { orderWorkflow } from "./order.ts";
import { nightly, reportWorkflow } from "./report.ts";

/** All that this deployment carries out. */
export const workflows = [orderWorkflow, reportWorkflow];
/** What starts runs by itself. */
export const schedules = [nightly];
