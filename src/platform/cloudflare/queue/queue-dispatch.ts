/**
 * Dispatches by a Cloudflare Queue: one message for each turn, since each is acknowledged by itself. Turns of the same
 * moment are sent in batches. What the queue refuses is reported, and the next tick finds it.
 *
 * What becomes ready after a delivery's own turns stays in that delivery, as long as it has steps left. Ten steps in a
 * row took, for each step (local workerd, Postgres 18, 2 cores; `npm run build` measures it):
 *
 *     a message a step               3.3 to 4.9 ms   2 statements, 3 operations of the queue
 *     a request to itself a step     2.4 to 3.7 ms   2 statements, 1 request
 *     ten steps a delivery           1.3 to 1.9 ms   1.1 statements, 0.3 operations
 *
 * So no delivery dispatches by requests to itself. The figures leave out Cloudflare's network.
 */
import type { HostClock, TurnRef } from "../../../core/ports.ts";
import { utf8Size } from "../../../core/utf8-size.ts";
import { within } from "../../../core/waits.ts";
import { askAgain } from "../../invocation/ask-again.ts";
import type { LocalWork } from "../../invocation/host.ts";
import { Moment } from "../../invocation/moment.ts";
import { piecesOf } from "../../invocation/pieces.ts";
import { UnderWay } from "../../invocation/under-way.ts";
import { WorkHere } from "../../invocation/work-here.ts";

/** A binding of a queue's producer, as much of it as is used. */
export interface QueueProducer {
  sendBatch(messages: Iterable<QueueMessage<TurnRef | SealedDelivery>>): Promise<unknown>;
}

export interface QueueMessage<Body = TurnRef> {
  readonly body: Body;
  readonly delaySeconds?: number;
}

/** A delivery of a webhook that was answered before (later-deliveries.ts). It goes through the same queue. */
export interface SealedDelivery {
  readonly sealed: string;
}

export interface QueueDispatchOptions {
  readonly queue: QueueProducer;
  readonly here?: LocalWork | undefined;
  /** Keeps this request from ending before the promise does. */
  readonly keepAlive?: ((sent: Promise<void>) => void) | undefined;
  /** Is called with turns that the platform has refused or may have lost. */
  readonly onRefused?: ((turns: readonly TurnRef[]) => void) | undefined;
  readonly onError: (error: unknown) => void;
  readonly host: HostClock;
}

/** The longest delay of a message. After a longer wait the alarm wakes the run. */
const longestDelayMs = 24 * 3_600_000;

/**
 * The limits of one `sendBatch`: 100 messages, 256 KB in all and 128 KB each, including what the platform adds to each.
 */
const mostMessages = 100;
const mostBytes = 200_000;
const mostBytesOfOne = 128_000;
const addedBytes = 100;

/**
 * The pauses between tries. So no run waits for minutes because the queue refused for a moment. A message that the queue
 * takes twice is carried out once.
 */
const pausesMs = [200, 1_000];

/** How long one try may take. The runtime waits 30 s for work under way, so it sees the end of three tries. */
const sendMs = 8_000;

export class QueueDispatch {
  readonly #options: QueueDispatchOptions;
  readonly #underWay: UnderWay;
  readonly #workHere: WorkHere;
  readonly #moment: Moment<QueueMessage>;
  #isWhole = true;

  constructor(options: QueueDispatchOptions) {
    this.#options = options;
    this.#underWay = new UnderWay(options.keepAlive);
    this.#workHere = new WorkHere(options.here);
    const { host } = options;
    this.#moment = new Moment({ host, underWay: this.#underWay, send: (messages) => this.#sendAll(messages) });
  }

  readonly dispatch = async (turns: readonly TurnRef[], delayMs: number): Promise<void> => {
    if (delayMs > longestDelayMs) return;
    const delaySeconds = Math.ceil(delayMs / 1_000);
    this.#moment.add(turns.map((body) => ({ body, ...(delaySeconds > 0 && { delaySeconds }) })));
  };

  /** Does `work`. A queue takes messages at any time, so nothing waits for the end of it. */
  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    return await work();
  }

  /** Whether the queue has taken all that was dispatched, as far as it is {@link settled}. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#underWay.settled();
  }

  async #sendAll(messages: readonly QueueMessage[]): Promise<void> {
    const isReady = messages.every(({ delaySeconds }) => delaySeconds === undefined);
    if (isReady && (await this.#workHere.takes(messages.map(({ body }) => body)))) return;
    // A queue refuses a message that is too long, and all that is sent with it. It would do so each minute.
    const sendable = messages.filter((message) => bytesOf(message) <= mostBytesOfOne);
    if (sendable.length < messages.length) this.#options.onError(new Error("a turn is too long for a message"));
    await Promise.all(piecesOf(sendable, { most: mostMessages, mostBytes, bytesOf }).map((batch) => this.#send(batch)));
  }

  async #send(messages: readonly QueueMessage[]): Promise<void> {
    const { queue, host, onRefused, onError } = this.#options;
    const send = () => within(host, sendMs, queue.sendBatch(messages), noAnswer);
    try {
      await askAgain(send, pausesMs, host);
    } catch (error) {
      this.#isWhole = false;
      onRefused?.(messages.map(({ body }) => body));
      onError(error);
    }
  }
}

function noAnswer(): Error {
  return new Error(`the queue did not answer within ${sendMs / 1_000} seconds`);
}

function bytesOf({ body }: QueueMessage): number {
  return utf8Size(JSON.stringify(body)) + addedBytes;
}
