/** The contracts of the runs that the tests of lists, histories and results start. */
import * as z from "zod";
import { type Contract, workflow } from "../../src/core/contract/contract.ts";

export const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ n: z.number() }),
  output: z.object({ charge: z.string() }),
});
export const other = workflow({ name: "other", version: 1 });
export const contracts: readonly Contract[] = [order, other];
