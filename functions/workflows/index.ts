import { orderWorkflow } from "./order.ts";

/** All that this deployment carries out. */
export const workflows = [orderWorkflow];
