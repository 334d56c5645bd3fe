/** Asks the code of a webhook what a delivery does. It sends no SQL, and throws nothing: a mistake of the code is an answer, too. */
import { parse } from "../../core/contract/schema.ts";
import { LayoverError } from "../../core/errors.ts";
import type { Deed } from "./deeds.ts";
import { type CheckedAnswer, checkedAnswer } from "./sender-answer.ts";
import type { Decision, WebhookParts } from "./webhook.ts";

/** The most deeds of a delivery. */
const mostDeeds = 10;

export type Decided =
  | {
      readonly deeds: readonly Deed[];
      readonly answer: CheckedAnswer | undefined;
      /** Why there is nothing to do. */
      readonly ignored: string | undefined;
    }
  /** The event is no event of the webhook's schema. */
  | { readonly refused: string }
  | Failed;

/** The code threw. */
export interface Failed {
  readonly failed: string;
  readonly cause: unknown;
}

export async function decide(hook: WebhookParts, event: unknown, headers: Headers): Promise<Decided> {
  try {
    const parsed = await parsedEvent(hook, event);
    return "refused" in parsed ? parsed : decisionOf(hook, hook.on(parsed.event, headers));
  } catch (error) {
    return failedBy(error);
  }
}

export function failedBy(cause: unknown): Failed {
  return { failed: cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause), cause };
}

/** Sorts what `on` has answered. @throws TypeError if it is no decision */
function decisionOf({ name }: WebhookParts, decision: Decision): Decided {
  const all = Array.isArray(decision) ? decision : [decision];
  const deeds: Deed[] = [];
  let answer: CheckedAnswer | undefined;
  let ignored: string | undefined;
  // A promise is a mistake, which is told below. Its rejection would end a process of Node's.
  for (const each of all) if (each instanceof Promise) each.catch(() => {});
  for (const each of all) {
    switch (each?.kind) {
      case "start":
      case "signal":
        deeds.push(each);
        break;
      case "answer":
        answer = checkedAnswer(each.answer);
        break;
      case "ignore":
        ignored = each.reason;
        break;
      default:
        throw new TypeError(
          `\`on\` of the webhook ${name} answered ${typeof each}. It answers start(…), signal(…), signalWithStart(…), ignore(…) or answer(…), or a list of these, and no promise`,
        );
    }
  }
  if (deeds.length > mostDeeds)
    throw new TypeError(
      `\`on\` of the webhook ${name} answered ${deeds.length} starts and signals. Up to ${mostDeeds} go into one delivery`,
    );
  return { deeds, answer, ignored };
}

async function parsedEvent(
  { name, event: schema }: WebhookParts,
  event: unknown,
): Promise<{ readonly event: unknown } | { readonly refused: string }> {
  if (schema === undefined) return { event };
  const options = { code: "invalid_payload", what: `the event of webhook ${JSON.stringify(name)}` } as const;
  try {
    return { event: await parse(schema, event, options) };
  } catch (error) {
    if (error instanceof LayoverError) return { refused: error.message };
    throw error;
  }
}
