/**
 * Three hosts on one database: a Worker on the real workerd, the functions of a stack in Lambda's runtime, and a process of
 * Node's. Their Postgres is real. The time goes on by itself, and is turned by hand, too.
 */
import { onTestFinished } from "vitest";
import type { Clock } from "../../postgres/clock.ts";
import type { TestDatabase } from "../../postgres/database.ts";
import { openWorld, type World } from "../world.ts";
import { type Asking, askingAt } from "./asking.ts";
import { beginFunctions } from "./functions-host.ts";
import type { CallFate, Mortal } from "./one-host.ts";
import { beginProcess } from "./process-host.ts";
import { TurnedClock } from "./turned-clock.ts";
import { beginWorker } from "./worker-host.ts";
import { type Host, hosts } from "./workflows.ts";

export interface ThreeHosts extends Asking {
  readonly world: World;
  /** Kills what a host has at work, as if its machines were lost, and lets it begin anew. */
  kill(host: Host): Promise<void>;
  /** Hosts that died at a request, and have not begun anew. */
  readonly dead: ReadonlySet<Host>;
  /** Lets all of them begin anew. */
  revive(): Promise<void>;
  /** Turns the clocks of the database and of the hosts. Alarms that are due then ring. */
  turn(ms: number): Promise<void>;
  /** What the hosts have written. */
  output(): string;
}

export interface ThreeHostsOptions {
  /** Says what becomes of a host at its next call of the database, or other request. Default: nothing. */
  readonly fateOf?: (host: Host) => CallFate;
  /** The database's, which goes on and is turned. */
  readonly clock?: Clock;
}

/** Call it within a test. */
export async function threeHosts(database: TestDatabase, options: ThreeHostsOptions = {}): Promise<ThreeHosts> {
  const { fateOf = () => "passes" } = options;
  const clock = new TurnedClock();
  clock.follow(async (ms) => await options.clock?.advance(ms));
  const dead = new Set<Host>();
  const die = (host: Host) => {
    dead.add(host);
    all[host].die();
  };
  const mortal = (host: Host): Mortal => ({
    databaseUrl: database.url,
    clock,
    fateOf: () => fateOf(host),
    die: () => die(host),
  });
  const world = await openWorld();
  onTestFinished(() => world.close());
  const all = {
    cloudflare: await beginWorker(mortal("cloudflare")),
    aws: await beginFunctions(mortal("aws")),
    node: await beginProcess(mortal("node")),
  };
  for (const host of hosts) await all[host].deployed();
  const revive = async () => {
    for (const host of dead) {
      await all[host].revive();
      dead.delete(host);
    }
  };
  return {
    ...askingAt((host) => all[host].url),
    world,
    async kill(host) {
      die(host);
      await revive();
    },
    dead,
    revive,
    turn: async (ms) => await clock.turn(ms),
    output: () => hosts.map((host) => all[host].output()).join("\n"),
  };
}
