/** A module of workflows, as a build has one. */
export { orderWorkflow } from "./workflows.ts";
