/** Two contracts whose types are looked at: one with all that a contract may have, and one with nothing. */
import { workflow } from "layover";
import * as z from "zod";

export const order = workflow({
  name: "order",
  version: 1,
  input: z.object({ id: z.string(), amount: z.coerce.number(), note: z.string().default("") }),
  output: z.object({ charge: z.string().transform((charge) => charge.length) }),
  signals: { address: z.object({ city: z.string() }), stop: z.literal(true) },
  callbacks: { approval: z.object({ ok: z.boolean() }), rating: z.number() },
  status: z.object({ shipped: z.number() }),
  timeout: "30 days",
});

export const bare = workflow({ name: "bare", version: 1 });
