/**
 * Dispatches by asynchronous invocations of the function `turns`, many turns in each. A turn for later goes to the queue,
 * which delivers it after its delay. What AWS refuses is reported, and the next tick finds it.
 *
 * What becomes ready after a delivery's own turns stays in that delivery, as long as it has steps left.
 */
import { groupsOf, isSuspect } from "../../core/groups.ts";
import type { TurnRef } from "../../core/ports.ts";
import { utf8Size } from "../../core/utf8-size.ts";
import { pause } from "../../core/waits.ts";
import type { Dispatcher, DispatchTerms } from "../invocation/host.ts";
import { Moment } from "../invocation/moment.ts";
import { piecesOf } from "../invocation/pieces.ts";
import { UnderWay } from "../invocation/under-way.ts";
import { WorkHere } from "../invocation/work-here.ts";
import type { QueuedMessage } from "./aws/send.ts";
import type { Services } from "./aws/services.ts";
import type { ForwardedEvent, TurnsEvent } from "./messages.ts";

export interface InvokeDispatchOptions extends DispatchTerms {
  readonly services: Pick<Services, "invoke" | "send">;
  /** The function `turns`. */
  readonly turns: string;
  readonly queueUrl: () => string;
  /** How many turns one invocation carries. */
  readonly batch: number;
  /** The schedules that are known to stand. */
  readonly armed: () => readonly string[];
}

/** The longest wait that an invocation itself waits for. Its function costs money meanwhile. */
const longestPauseMs = 1_000;

/** The longest delay of a message. After a longer wait the alarm wakes the run. */
const longestDelayMs = 15 * 60_000;

/** The most bytes of turns in one event or message. The service takes 256 KB at the least, with what is added. */
const mostBytes = 200_000;

/** The most messages in one call of the queue, and the most bytes of them together. */
const mostMessages = 10;

/** How many calls of a service are under way at a time. AWS' client of each has 50 connections. */
const mostOpen = 40;

export class InvokeDispatch implements Dispatcher {
  readonly #options: InvokeDispatchOptions;
  readonly #underWay = new UnderWay(undefined);
  readonly #workHere: WorkHere;
  readonly #moment: Moment<Dispatched>;
  #isWhole = true;

  constructor(options: InvokeDispatchOptions) {
    this.#options = options;
    this.#workHere = new WorkHere(options.here);
    const { host } = options;
    this.#moment = new Moment({ host, underWay: this.#underWay, send: (dispatched) => this.#sendAll(dispatched) });
  }

  readonly dispatch = async (turns: readonly TurnRef[], delayMs: number): Promise<void> => {
    if (delayMs > longestDelayMs) return;
    if (this.#isTooLate(0)) {
      this.#lose(turns);
      return;
    }
    if (delayMs > 0 && delayMs < longestPauseMs && !this.#isTooLate(delayMs))
      return this.#underWay.add(this.#pause(turns, delayMs));
    this.#moment.add([{ turns, delayMs }]);
  };

  /** Does `work`. AWS takes events at any time, so nothing waits for the end of it. */
  async together<Result>(work: () => Promise<Result>): Promise<Result> {
    return await work();
  }

  /** Whether AWS has taken all that was dispatched, as far as it is {@link settled}. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#underWay.settled();
  }

  #isTooLate(delayMs: number): boolean {
    const { host, until } = this.#options;
    return host.now() + delayMs >= until();
  }

  #lose(turns: readonly TurnRef[]): void {
    this.#isWhole = false;
    this.#options.onRefused(turns);
  }

  async #pause(turns: readonly TurnRef[], delayMs: number): Promise<void> {
    await pause(this.#options.host, delayMs);
    await this.dispatch(turns, 0);
  }

  async #sendAll(dispatched: readonly Dispatched[]): Promise<void> {
    const turns = dispatched.flatMap(({ turns, delayMs }) => (delayMs > 0 ? [] : turns));
    const later = dispatched.filter(({ delayMs }) => delayMs > 0);
    // The messages go out first. A step that is carried out here may take minutes, and a delay counts from the sending.
    await Promise.all([inLanes(this.#messagesOf(later), (messages) => this.#send(messages)), this.#sendNow(turns)]);
  }

  async #sendNow(turns: readonly TurnRef[]): Promise<void> {
    if (turns.length === 0 || (await this.#workHere.takes(turns))) return;
    await inLanes(this.#batchesOf(turns), (batch) => this.#invoke(batch));
  }

  async #invoke(turns: readonly TurnRef[]): Promise<void> {
    const { services, turns: name } = this.#options;
    try {
      await services.invoke(name, JSON.stringify(this.#eventOf(turns)));
    } catch (error) {
      this.#lose(turns);
      this.#options.onError(error);
    }
  }

  async #send(batches: readonly Dispatched[]): Promise<void> {
    const { services, queueUrl } = this.#options;
    const messages = batches.map(({ turns, delayMs }): QueuedMessage => {
      const forwarded: ForwardedEvent = { to: "turns", event: this.#eventOf(turns) };
      return { body: JSON.stringify(forwarded), delaySeconds: Math.ceil(delayMs / 1_000) };
    });
    try {
      const refused = await services.send(queueUrl(), messages);
      for (const index of refused) this.#lose(batches[index]?.turns ?? []);
      if (refused.length > 0) this.#options.onError(new Error(`the queue refused ${refused.length} messages`));
    } catch (error) {
      this.#lose(batches.flatMap(({ turns }) => turns));
      this.#options.onError(error);
    }
  }

  #eventOf(turns: readonly TurnRef[]): TurnsEvent {
    return { turns, armed: this.#options.armed() };
  }

  /** Makes the events of one moment: each group of turns that may have ended their process has one of its own. */
  #batchesOf(turns: readonly TurnRef[]): readonly (readonly TurnRef[])[] {
    const together = turns.filter((turn) => !isSuspect(turn));
    const groups = groupsOf(turns.filter(isSuspect));
    return [
      ...piecesOf(together, { most: this.#options.batch, mostBytes, bytesOf }),
      ...groups.flatMap((group) => piecesOf(group, { most: group.length, mostBytes, bytesOf })),
    ];
  }

  #messagesOf(later: readonly Dispatched[]): readonly (readonly Dispatched[])[] {
    const batches = later.flatMap(({ turns, delayMs }) => this.#batchesOf(turns).map((turns) => ({ turns, delayMs })));
    return piecesOf(batches, { most: mostMessages, mostBytes, bytesOf });
  }
}

interface Dispatched {
  readonly turns: readonly TurnRef[];
  readonly delayMs: number;
}

async function inLanes<Item>(items: readonly Item[], call: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lane = async (): Promise<void> => {
    for (const item of queue) await call(item);
  };
  await Promise.all(Array.from({ length: Math.min(mostOpen, items.length) }, lane));
}

/** The bytes of an item as JSON in a list. */
function bytesOf(item: TurnRef | Dispatched): number {
  return utf8Size(JSON.stringify(item)) + 1;
}
