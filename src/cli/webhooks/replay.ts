/**
 * `layover webhooks replay`: has one delivery carried out again, or all that were not carried out. Of many each stands for
 * itself: what became of one is told at once, and one that cannot be played does not hold up those behind it.
 */
import { Command } from "commander";
import type { DeliveryView } from "../../client/deliveries.ts";
import type { Api } from "../../client/over-http/api.ts";
import { type ErrorCode, LayoverError } from "../../core/errors.ts";
import { withServer } from "../runs/server.ts";
import { userName } from "../runs/user-name.ts";
import { plain, print, printAside, printJson } from "../screen.ts";
import { UsageError } from "../usage-error.ts";
import { listDeliveries, type Replayed, replayDelivery } from "./deliveries.ts";

type Named = Pick<DeliveryView, "webhook" | "id">;

/** The outcome of one delivery that was played again. */
type Told = Named &
  (
    | Replayed
    | { readonly outcome: "not_played"; readonly code: ErrorCode; readonly reason: string; readonly hint: string }
  );

/** Errors that every further delivery would meet, too. */
const ofAll: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unreachable",
  "unexpected_answer",
  "unauthorized",
  "forbidden",
  "database_unavailable",
  "wrong_schema",
  "wrong_environment",
]);

interface ReplayOptions {
  readonly refused?: true;
  readonly by?: string;
  readonly reason?: string;
  readonly json?: true;
}

export const replay = new Command("replay")
  .summary("has a delivery carried out again")
  .description(
    "Asks the deployed code again what to do for a delivery, and does it. What was done before is not done twice. With --refused: all that were not carried out, the oldest first. It ends with the exit code 1 if any of them is still not carried out.",
  )
  .argument("[webhook]", "the name of the webhook")
  .argument("[delivery]", "the sender's id of the delivery")
  .option("--refused", "all deliveries that were not carried out, or those of the webhook")
  .option("--reason <text>", "why; it is kept with the delivery")
  .option("--by <name>", "who asks; it is kept, too. Default: your name on this machine")
  .option("--json", "answer as JSON")
  .addHelpText("after", "\nExamples:\n  layover webhooks replay stripe evt_1PqX\n  layover webhooks replay --refused")
  .action(async (webhook: string | undefined, id: string | undefined, options: ReplayOptions) => {
    const { refused, by = userName(), reason, json } = options;
    if ((id === undefined) !== (refused === true) || (refused === undefined && webhook === undefined))
      throw new UsageError("Name a webhook and a delivery, or say --refused.", {
        hint: "Write layover webhooks replay stripe evt_1PqX, or layover webhooks replay --refused.",
      });
    const told: Told[] = [];
    const tell = (one: Told) => {
      told.push(one);
      if (!json) print(lineOf(one));
    };
    try {
      await withServer(async ({ api }) => {
        if (id !== undefined && webhook !== undefined)
          return tell({ webhook, id, ...(await replayDelivery(api, { webhook, id }, { by, reason })) });
        for (const delivery of await refusedOnes(api, webhook)) tell(await played(api, delivery, { by, reason }));
      });
    } finally {
      if (json && told.length > 0) printJson(told); // also if it broke off: what was played is done
    }
    if (told.length === 0) return json ? printJson([]) : print("No delivery waits for that.");
    if (refused && !json) tellHints(told);
    if (told.some(({ outcome }) => outcome === "not_played" || outcome === "refused")) process.exitCode = 1;
  });

/** Plays one of many. @throws LayoverError that all others would meet, too; UsageError */
async function played(api: Api, { webhook, id }: Named, why: Parameters<typeof replayDelivery>[2]): Promise<Told> {
  try {
    return { webhook, id, ...(await replayDelivery(api, { webhook, id }, why)) };
  } catch (error) {
    if (!(error instanceof LayoverError) || ofAll.has(error.code)) throw error;
    const { code, message, hint } = error;
    return { webhook, id, outcome: "not_played", code, reason: message, hint };
  }
}

function lineOf(told: Told): string {
  const { webhook, id, outcome, reason } = told;
  const what = "code" in told ? `not played, as ${told.code}` : outcome;
  return `${plain(webhook)} ${plain(id)}: ${plain(what)}${reason === undefined ? "" : `: ${plain(reason)}`}`;
}

/** Says how many were not played, and what to do, once for each code. */
function tellHints(told: readonly Told[]): void {
  const left = told.flatMap((one) => ("code" in one ? [one] : []));
  if (left.length === 0) return;
  printAside(`${left.length} of ${told.length} could not be played.`);
  for (const [code, hint] of new Map(left.map(({ code, hint }) => [code, hint]))) printAside(`${code}: ${plain(hint)}`);
}

/** Reads all pages first: a delivery that is refused again would come again. */
async function refusedOnes(api: Api, webhook: string | undefined): Promise<readonly DeliveryView[]> {
  const found: DeliveryView[] = [];
  for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
    const page = await listDeliveries(api, { webhook, isOpen: true, limit: 200, cursor });
    found.push(...page.deliveries);
    cursor = page.cursor;
  }
  return found.reverse();
}
