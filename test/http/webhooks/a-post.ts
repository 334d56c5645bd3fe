/**
 * A sender and a deployment, played on a real Postgres with the clock turned by hand. Each request has a process of its own,
 * which may lose its database or die. The queue is the real code of Cloudflare's, with a queue in memory beneath.
 */
import { type Decision, signal, start, webhook } from "layover/webhooks";
import { vi } from "vitest";
import { type Query, QueryError, type Row } from "../../../src/core/ports.ts";
import type { Tell } from "../../../src/engine/events.ts";
import { laterOf, mountWebhooks } from "../../../src/http/webhooks/mount.ts";
import { carryOutLater, laterQueue } from "../../../src/platform/cloudflare/queue/later-deliveries.ts";
import { aHastyHost, namespace, secrets } from "../../client/a-client.ts";
import { Chance } from "../../engine/chance.ts";
import type { Clock } from "../../postgres/clock.ts";
import type { TestDatabase } from "../../postgres/database.ts";
import { anApp, anything, authorized, json, order, type TestApp } from "../an-app.ts";
import { env, type Happening, type Sender } from "./senders.ts";

/**
 * What becomes of the process of one request. Its database: "away" refuses all, "lost" has done it and the connection
 * breaks, "deaf" never gets it, "mute" has done it and never answers, "held" does it four seconds later and never answers. Or
 * it dies: "refused" before the request, "died" after all is done, so that nobody is answered.
 */
export const fates = ["passes", "away", "lost", "deaf", "mute", "held", "refused", "died"] as const;
export type Fate = (typeof fates)[number];

export interface PostOptions {
  readonly sender: Sender;
  readonly respond: "after" | "before";
  /** What becomes of a request, or of a try of the queue. Default: all pass. */
  readonly fateOf?: (ms: number) => Fate;
  /** Whether the code throws at this time. Default: never. */
  readonly isBroken?: (ms: number) => boolean;
  /** Whether the queue takes nothing at this time. Default: never. */
  readonly isQueueAway?: (ms: number) => boolean;
}

interface Next {
  readonly at: number;
  readonly act: () => Promise<void>;
}

const mostTriesOfQueue = 12;

export class Post {
  /** Ids of what was answered well. */
  readonly answered = new Set<string>();
  /** What the sender has given up. */
  readonly givenUp = new Map<string, Happening>();
  /** The header `x-slack-retry-num` of each request, in order. */
  readonly retryNumbers: (string | null)[] = [];
  /** How many messages the queue has deleted undone. */
  deleted = 0;
  readonly #database: TestDatabase;
  readonly #clock: Clock;
  readonly #options: PostOptions;
  readonly #beginning: number;
  #ms = 0;
  #next: Next[] = [];

  static async begin(database: TestDatabase, clock: Clock, options: PostOptions): Promise<Post> {
    await database.pool.query("select layover.delete_rows(id) from layover.run");
    for (const table of ["delivery", "kept_signal"]) await database.pool.query(`delete from layover.${table}`);
    const post = new Post(database, clock, options, await clock.now());
    vi.setSystemTime(post.#beginning);
    return post;
  }

  private constructor(database: TestDatabase, clock: Clock, options: PostOptions, beginning: number) {
    this.#database = database;
    this.#clock = clock;
    this.#options = options;
    this.#beginning = beginning;
  }

  /** Has the sender send it, from this time on, until it is answered or given up. */
  send(happening: Happening, atMs = this.#ms, failed = { count: 0, reason: "" }): void {
    this.#at(atMs, async () => {
      const outcome = await this.#try(happening, failed);
      if (outcome === "answered") {
        this.answered.add(happening.id);
        this.givenUp.delete(happening.id);
        return;
      }
      const { patienceMs, pausesMs } = this.#options.sender;
      const pauseMs = pausesMs[failed.count];
      if (pauseMs === undefined) {
        this.givenUp.set(happening.id, happening);
        return;
      }
      const from = this.#ms + (outcome === "http_timeout" ? patienceMs : 0);
      this.send(happening, from + pauseMs, { count: failed.count + 1, reason: outcome });
    });
  }

  /** Lets time pass until nothing is left to happen. What happens at one instant happens at once. */
  async play(): Promise<void> {
    for (let [first] = this.#next; first !== undefined; [first] = this.#next) {
      const at = Math.min(...this.#next.map((next) => next.at));
      const now = this.#next.filter((next) => next.at === at);
      this.#next = this.#next.filter((next) => next.at !== at);
      this.#ms = at;
      vi.setSystemTime(this.#beginning + at);
      await this.#clock.set(this.#beginning + at);
      await Promise.all(now.map(({ act }) => act()));
    }
  }

  /** Deliveries as people see them. */
  async deliveries(
    query = "",
  ): Promise<readonly { readonly id: string; readonly outcome: string; readonly attempts: number }[]> {
    const response = await this.#app(this.#database.query).app.request(`/v1/deliveries?limit=100${query}`, {
      headers: authorized,
    });
    return Object(await response.json()).deliveries;
  }

  async replay(id: string): Promise<unknown> {
    const path = `/v1/webhooks/sender/deliveries/${encodeURIComponent(id)}/replay`;
    const response = await this.#app(this.#database.query).app.request(path, json({ by: "ada" }));
    return Object(await response.json()).outcome;
  }

  /** How often each happening was done: runs that it started, and signals that it sent or that are kept. */
  async done(): Promise<Readonly<Record<string, number>>> {
    const { rows } = await this.#database.pool.query(
      `select r.workflow || ' ' || r.input as what from layover.run r
       union all select s.name || ' ' || s.payload from layover.signal s
       union all select k.name || ' ' || k.payload from layover.kept_signal k`,
    );
    const counts: Record<string, number> = {};
    for (const { what } of rows) {
      const [id = ""] = /h\d+/.exec(what) ?? [];
      counts[id] = (counts[id] ?? 0) + 1;
    }
    return counts;
  }

  #at(at: number, act: () => Promise<void>): void {
    this.#next.push({ at, act });
  }

  async #try(happening: Happening, failed: { count: number; reason: string }): Promise<string> {
    const fate = this.#options.fateOf?.(this.#ms) ?? "passes";
    if (fate === "refused") return "connection_failed";
    const request = this.#options.sender.request(happening, failed);
    this.retryNumbers.push(new Headers(request.headers).get("x-slack-retry-num"));
    return await this.#carriedOut(fate, async (query) => {
      const response = await this.#app(query).app.request("/webhooks/sender", request);
      if (fate === "died") return "connection_failed";
      return response.ok ? "answered" : "http_error";
    });
  }

  /** Plays one process with its fate. It ends when it answers, or when its database never will. */
  async #carriedOut(fate: Fate, work: (query: Query) => Promise<string>): Promise<string> {
    let hang = () => {};
    const silence = new Promise<"http_timeout">((resolve) => {
      hang = () => resolve("http_timeout");
    });
    return await Promise.race([work(this.#spoiled(fate, hang)), silence]);
  }

  #spoiled(fate: Fate, hang: () => void): Query {
    const { query } = this.#database;
    let isSpoiled = false;
    const never = () => {
      hang();
      return new Promise<readonly Row[]>(() => {});
    };
    const spoil = async (...statement: Parameters<Query>): Promise<readonly Row[]> => {
      if (fate === "away") throw new QueryError("the database is away", { isRolledBack: true });
      if (isSpoiled || !statement[0].includes("receive_delivery")) return await query(...statement);
      isSpoiled = true;
      if (fate === "deaf") return await never();
      if (fate === "held") {
        this.#at(this.#ms + 4_000, async () => void (await query(...statement)));
        return await never();
      }
      const rows = await query(...statement);
      if (fate === "mute") return await never();
      if (fate === "lost") throw new QueryError("the connection broke", { isRolledBack: false });
      return rows;
    };
    return Object.assign(spoil, { endpoint: query.endpoint });
  }

  #app(query: Query): TestApp {
    const { isQueueAway } = this.#options;
    const queue = laterQueue(
      {
        sendBatch: async (messages) => {
          if (isQueueAway?.(this.#ms)) throw new Error("the queue is away");
          for (const { body } of messages) this.#enqueue(body, this.#ms);
        },
      },
      aHastyHost(),
    );
    const webhooks = mountWebhooks([this.#webhook()], { env, tell: () => {}, queue });
    return anApp(query, { webhooks }, { host: aHastyHost() });
  }

  #webhook() {
    const { sender, respond, isBroken } = this.#options;
    const on = ({ event }: { readonly event: unknown }) => {
      if (isBroken?.(this.#ms)) throw new Error("this deploy was a mistake");
      return deedOf(sender.read(event));
    };
    const options = { name: "sender", verify: sender.verify, on };
    // What answers before by itself is left to do so.
    const isDefault = sender.verify.isImpatient === true && respond === "before";
    return webhook(isDefault ? options : { ...options, respond });
  }

  /** Tries a message: again after each pause that the deployment names, and then as a dead letter. */
  #enqueue(body: unknown, at: number, attempts = 1, areDead = false): void {
    this.#at(at, async () => {
      const fate = this.#options.fateOf?.(this.#ms) ?? "passes";
      let delaySeconds: number | undefined = 0;
      const message = {
        body,
        attempts,
        ack: () => {
          delaySeconds = undefined;
        },
        retry: (options: { readonly delaySeconds?: number } = {}) => {
          delaySeconds = options.delaySeconds ?? 0;
        },
      };
      if (fate !== "refused")
        await this.#carriedOut(fate, async (query) => {
          const { client } = this.#app(query);
          const tell: Tell = () => {};
          const later = laterOf([this.#webhook()], env);
          const carryOut = later && ((sealed: string) => later(sealed, { secrets, namespace, client, tell }));
          await carryOutLater([message], { carryOut, areDead, onError: () => {} });
          return "answered";
        });
      if (fate === "died") delaySeconds = 0; // its acknowledgement is lost
      if (delaySeconds === undefined) return;
      const isUsedUp = attempts > mostTriesOfQueue;
      if (isUsedUp && areDead) this.deleted += 1;
      else this.#enqueue(body, this.#ms + delaySeconds * 1_000, isUsedUp ? 1 : attempts + 1, areDead || isUsedUp);
    });
  }
}

function deedOf({ id, type, order: orderId }: Happening) {
  const deed = {
    paid: () => start(order, { id: `${orderId} ${id}` }, { id: orderId }),
    moved: () => signal(order, { id: orderId }, "address", { city: id }),
    noted: () => start(anything, id),
  }[type]();
  return deed satisfies Decision;
}

/** Draws what becomes of each request by a seed: a third goes wrong, and now and then all does for a while. */
export function troubles(seed: number): { readonly chance: Chance; readonly fateOf: (ms: number) => Fate } {
  const chance = new Chance(seed, 1);
  const fateOf = () => (chance.below(3) === 0 ? chance.pick(fates) : "passes");
  return { chance, fateOf };
}
