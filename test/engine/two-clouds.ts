/** Two deployments on one database, each with alarms and dispatches of its own, as on two clouds. Each has code that the other lacks. */
import { Client } from "../../src/client/over-postgres/client.ts";
import { type Workflow, workflow } from "../../src/core/contract/contract.ts";
import type { TurnRef } from "../../src/core/ports.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Registry } from "../../src/engine/registry.ts";
import { makeCalls } from "../../src/postgres/calls.ts";
import type { Clock } from "../postgres/clock.ts";
import type { TestDatabase } from "../postgres/database.ts";

/** The hosts' own clock stands still: they know the time by the database's answers alone, however slow this machine is. */
const stillClock = { monotonic: () => 0, after: () => () => {} };

const ours = workflow({ name: "ours", version: 1 });
export const theirs = workflow({ name: "theirs", version: 1 });
export const shared = workflow({ name: "shared", version: 1 });

export interface Host {
  readonly address: string;
  readonly engine: Engine;
  readonly client: Client;
  /** The instants that it has armed. */
  readonly armed: Set<number>;
  /** The turns that it has dispatched, and that nobody has carried out yet. */
  turns: TurnRef[];
  /** Those that it has dispatched for later, and for when. */
  later: { readonly turn: TurnRef; readonly at: number }[];
  readonly errors: string[];
  isDown: boolean;
  /** How often others have rung here. */
  rung: number;
  /** A ring here is answered when this has resolved. */
  answersAfter: Promise<void>;
  /** How many of its calls of the database have not been answered. */
  underWay: number;
}

export class TwoClouds {
  readonly namespace = crypto.randomUUID();
  readonly clock: Clock;
  readonly #database: TestDatabase;
  readonly #hosts: Host[] = [];

  constructor(database: TestDatabase, clock: Clock) {
    this.#database = database;
    this.clock = clock;
  }

  host(name: string, workflows: readonly Workflow[], { id = name } = {}): Host {
    const { namespace } = this;
    const database = this.#database;
    const armed = new Set<number>();
    const dispatch = async (turns: readonly TurnRef[], delayMs: number) => {
      const at = (await this.clock.now()) + delayMs;
      if (delayMs > 0) host.later.push(...turns.map((turn) => ({ turn, at })));
      else host.turns.push(...turns);
    };
    const alarm = async (instants: readonly { readonly at: number }[]) => {
      for (const { at } of instants) armed.add(at);
    };
    const counted = (...call: Parameters<typeof database.query>) => {
      host.underWay += 1;
      return database.query(...call).finally(() => (host.underWay -= 1));
    };
    const query = Object.assign(counted, { endpoint: database.query.endpoint });
    const calls = makeCalls({ query, namespace, alarm, host: stillClock });
    const address = `https://${name}.example`;
    const errors: string[] = [];
    const engine = new Engine({
      calls,
      dispatch,
      registry: new Registry(workflows),
      host: stillClock,
      deployment: { name, id, wakeAddress: address },
      onError: (error) => errors.push(String(error)),
      ringAt: async (address, readyUntil) => {
        const rung = this.#hosts.findLast((other) => other.address === address);
        if (rung === undefined || rung.isDown) throw new Error(`nobody is at ${address}`);
        if (++rung.rung > 100) throw new Error(`${address} is rung without end`);
        await rung.answersAfter;
        await rung.client.ring(readyUntil);
      },
    });
    const wake = async (readyUntil?: number) =>
      void (await engine.tick({ readyUntil, isRung: readyUntil !== undefined }));
    const client = new Client({ calls, dispatch, wake });
    const host: Host = {
      ...{ address, engine, client, armed, turns: [], later: [], errors },
      ...{ isDown: false, rung: 0, answersAfter: Promise.resolve(), underWay: 0 },
    };
    this.#hosts.push(host);
    return host;
  }

  async dueAt(runId: string): Promise<number | null> {
    const statement = "select layover.to_ms(due_at) as at from layover.run_state where run_id = $1";
    const [row] = await this.#database.query(statement, [runId]);
    return row?.["at"] == null ? null : Number(row["at"]);
  }
}

/** Carries out what was dispatched, until nothing is left. */
export async function settle(host: Host): Promise<void> {
  while (host.turns.length > 0) await host.engine.carryOut(host.turns.splice(0));
}

export const nothing = async () => {};

/** `id`: of both builds. */
export async function begin(database: TestDatabase, { id }: { readonly id?: string } = {}) {
  const clock = await database.turnClock();
  const clouds = new TwoClouds(database, clock);
  const here = clouds.host("here", [ours.handler(nothing), shared.handler(nothing)], id === undefined ? {} : { id });
  const there = clouds.host(
    "there",
    [theirs.handler(nothing), shared.handler(nothing)],
    id === undefined ? {} : { id },
  );
  await here.engine.tick();
  await there.engine.tick();
  return { clouds, clock, here, there };
}
