import { workflow } from "layover";
import * as z from "zod";

/** Sleeps until an instant in epoch milliseconds. */
export const napping = workflow({ name: "napping", version: 1, input: z.number() });

/** Has one step. */
export const stuck = workflow({ name: "stuck", version: 1 });
