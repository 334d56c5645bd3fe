/**
 * Carries out one delivery of a Cloudflare Queue. Its turns are claimed in one call. Each message is acknowledged once
 * its turn was carried out, or was refused by the database. The run's alarm stands whatever becomes of a claim. So a
 * message must come again only if the database could not be asked, or if another deployment may carry its run.
 *
 * A delivery that is cut off comes again as a whole, even the messages that were acknowledged. The turns that it had
 * claimed are busy then, and so they are acknowledged.
 *
 * A turn that lost several leases in a row may have ended its isolate. So it goes in a group with few of its kind, or
 * alone, and each group is claimed when nothing else is at work. If the messages of a delivery have come again, perhaps
 * because of one such turn, they are sent anew with all their tries. So no message is used up by the deaths that
 * another turn brings.
 */
import { groupsOf, isSuspect } from "../../../core/groups.ts";
import type { TurnRef } from "../../../core/ports.ts";
import { isInteger, isTurn, shownMessage } from "../../invocation/turn-message.ts";

/** A message as the runtime hands it over. */
export interface QueuedMessage {
  readonly body: unknown;
  /** Counted from 1. */
  readonly attempts: number;
  ack(): void;
  retry(options?: { delaySeconds?: number }): void;
}

export interface DeliveryOptions {
  /** Carries out turns. False: none of them could be claimed. */
  readonly carryOut: (turns: readonly TurnRef[]) => Promise<boolean>;
  /** Those of the turns whose version this deployment does not carry. */
  readonly elsewhere?: ReadonlySet<TurnRef>;
  /** Resolves when nothing that follows from the turns is at work any more. */
  readonly settled: () => Promise<void>;
  /** Sends turns as messages of their own. Answers whether the queue took them. */
  readonly sendAnew: (turns: readonly TurnRef[]) => Promise<boolean>;
  /** Whether there is time to begin another group. */
  readonly isOpen: () => boolean;
  readonly onError: (error: unknown, doing: string) => void;
}

/**
 * How often a message is delivered whose run this version of the Worker does not carry. While two versions share the
 * traffic they share the queue, so a few tries may bring the message to the other one. After that the next tick
 * dispatches the run.
 */
const triesElsewhere = 5;

/** The pause after a delivery that could ask nothing: 10 s, doubling to ten minutes. */
const retrySeconds = 10;
const longestRetrySeconds = 600;

interface SentTurn extends TurnRef {
  /** How often it had come in vain when it was sent anew. */
  readonly tried?: number;
}

interface Letter {
  readonly message: QueuedMessage;
  readonly turn: TurnRef;
  /** How often it was tried, including the tries before it was sent anew. */
  readonly tries: number;
}

export async function deliver(messages: readonly QueuedMessage[], options: DeliveryOptions): Promise<void> {
  const { carryOut, elsewhere, settled, sendAnew, isOpen, onError } = options;
  const letters = readLetters(messages, onError);
  const together = letters.filter(({ turn }) => !isSuspect(turn));
  const groups = groupsOf(letters.map(({ turn }) => turn).filter(isSuspect)).map((group) =>
    letters.filter(({ turn }) => group.includes(turn)),
  );

  const end = (some: readonly Letter[], isDone: boolean): void => {
    for (const { message, turn, tries } of some) {
      const isElsewhere = elsewhere?.has(turn) && tries < triesElsewhere;
      if (isDone && !isElsewhere) message.ack();
      else retryLater(message, tries);
    }
  };
  const carry = async (some: readonly Letter[]): Promise<void> => {
    if (some.length > 0) end(some, await carryOut(some.map(({ turn }) => turn)));
  };
  await carry(together);
  const isRepeated = messages.length > 1 && messages.some(({ attempts }) => attempts > 1);
  const later: Letter[] = [];
  for (const group of groups) {
    await settled();
    if (isRepeated || !isOpen()) later.push(...group);
    else await carry(group);
  }
  if (later.length === 0) return;
  end(later, await sendAnew(later.map(({ turn, tries }) => ({ ...turn, tried: tries - 1 }))));
}

/** Reads messages. One that names no turn is reported and acknowledged: it would name none the next time either. */
export function readLetters(
  messages: readonly QueuedMessage[],
  onError: DeliveryOptions["onError"],
): readonly Letter[] {
  return messages.flatMap((message) => {
    const { body } = message;
    if (isSentTurn(body)) return [{ message, turn: body, tries: message.attempts + (body.tried ?? 0) }];
    message.ack();
    onError(new Error(`a message of the queue names no turn: ${shownMessage(body)}`), "delivering");
    return [];
  });
}

export function retryLater(message: QueuedMessage, tries = message.attempts): void {
  message.retry({ delaySeconds: Math.min(retrySeconds * 2 ** (tries - 1), longestRetrySeconds) });
}

function isSentTurn(body: unknown): body is SentTurn {
  return isTurn(body) && (!("tried" in body) || isInteger(body.tried));
}
