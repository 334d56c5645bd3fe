/** The webhooks of the Worker under test. Their events are what a workflow is started with. */
import type { Contract } from "layover";
import { githubSignature, standardWebhooks, start, webhook } from "layover/webhooks";
import * as z from "zod";
import { chain } from "./workflows.ts";

const Event = z.object({ id: z.string(), input: z.object({ world: z.string(), steps: z.number() }) });
const started = ({ id, input }: z.infer<typeof Event>) => start<Contract>(chain.contract, input, { id });

export const webhooks = [
  webhook({
    name: "github",
    verify: githubSignature((_: unknown) => "hook"),
    on: ({ event }) => started(Event.parse(event.payload)),
  }),
  webhook({
    name: "shop",
    verify: standardWebhooks((_: unknown) => `whsec_${btoa("a secret of the shop")}`),
    event: Event,
    respond: "before",
    on: ({ event }) => started(event),
  }),
];
