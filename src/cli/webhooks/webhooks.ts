/** `layover webhooks`: looks at what senders have delivered, and has it carried out again. */
import { Command } from "commander";
import type { DeliveryView } from "../../client/deliveries.ts";
import { wholeNumberIn } from "../runs/arguments.ts";
import { withServer } from "../runs/server.ts";
import { type Cell, plain, print, printJson, table } from "../screen.ts";
import { lasting } from "../times.ts";
import { getDelivery, listDeliveries } from "./deliveries.ts";
import { replay } from "./replay.ts";

interface ListOptions {
  readonly webhook?: string;
  readonly refused?: true;
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: true;
}

const list = new Command("list")
  .summary("lists deliveries")
  .description("Lists what senders have delivered, newest first. Deliveries are kept for 30 days.")
  .option("--webhook <name>", "only those to this webhook")
  .option("--refused", "only those that were not carried out: refused, failed, expired")
  .option("--limit <number>", "how many, up to 200", wholeNumberIn, 20)
  .option("--cursor <cursor>", "of the page before")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  layover webhooks list --refused")
  .action(async ({ json, refused, ...options }: ListOptions) => {
    const page = await withServer(({ api }) => listDeliveries(api, { ...options, isOpen: refused }));
    if (json) return printJson(page);
    const { deliveries, cursor } = page;
    if (deliveries.length === 0) return print("There is no such delivery.");
    const now = Date.now();
    print(
      table(
        columns,
        deliveries.map((delivery) => rowOf(delivery, now)),
      ),
    );
    if (cursor !== undefined) print(`\nTo see more: --cursor ${plain(cursor)}`);
  });

const columns = [
  { title: "WEBHOOK" },
  { title: "DELIVERY", isWhole: true },
  { title: "OUTCOME", isWhole: true },
  { title: "AGE", isWhole: true },
  { title: "" },
];

function rowOf({ webhook, id, outcome, receivedAt, reason, deeds }: DeliveryView, now: number): (string | Cell)[] {
  return [webhook, id, outcome, lasting(now - receivedAt.getTime()), reason ?? deeds.map(deedText).join(", ")];
}

function deedText({ outcome, signal, runId }: DeliveryView["deeds"][number]): string {
  const what = [outcome, signal && `signal ${signal}`].filter((part) => part !== undefined).join(", ");
  return runId === null ? what : `${what}: ${runId}`;
}

const show = new Command("show")
  .summary("shows a delivery")
  .description("Shows a delivery: what came, what it did, and why it was refused.")
  .argument("<webhook>", "the name of the webhook")
  .argument("<delivery>", "the sender's id of the delivery")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExample:\n  layover webhooks show stripe evt_1PqX")
  .action(async (webhook: string, id: string, { json }: { readonly json?: true }) => {
    const delivery = await withServer(({ api }) => getDelivery(api, webhook, id));
    if (json) return printJson(delivery);
    const { outcome, reason, receivedAt, decidedAt, attempts, deeds, replays, event, headers } = delivery;
    print(`${webhook} ${plain(delivery.id)}: ${outcome}${reason === undefined ? "" : `: ${plain(reason)}`}`);
    const times = attempts === 1 ? "once" : `${attempts} times`;
    print(`Came ${receivedAt.toISOString()}. Decided ${times}, last ${decidedAt.toISOString()}.`);
    for (const deed of deeds) print(`  ${plain(deedText(deed))}`);
    for (const { by, reason: why, at } of replays)
      print(
        `Played again ${at.toISOString()}${by === undefined ? "" : ` by ${plain(by)}`}${why === undefined ? "" : `: ${plain(why)}`}`,
      );
    if (headers === undefined) return print("What came is deleted: it is kept for a week.");
    print(`\n${JSON.stringify(event, null, 2)}`);
  });

export const webhooks = new Command("webhooks")
  .summary("looks at what senders have delivered, and plays it again")
  .description("Looks at what senders have delivered to webhooks, and has it carried out again.")
  .addCommand(list)
  .addCommand(show)
  .addCommand(replay);
