/**
 * The process dies at the n-th call of each port, before and after the call took effect, for every n. On a cloud the
 * alarms outlive it; on Node they die with it, and the next process begins with a tick; an embedded database has one
 * process at a time, so that the next one also voids its leases. What was dispatched is lost in any case.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { RunView } from "../../src/client/run-view.ts";
import { Chance } from "../engine/chance.ts";
import type { Port } from "../engine/mortal.ts";
import { testDatabase } from "../postgres/database.ts";
import { isWhole, testSeed } from "../size.ts";
import { countCalls, type Death, expectSameStory, tellWithDeaths } from "./deaths.ts";
import type { Tell, TellOptions, Told } from "./story.ts";

const ports: readonly Port[] = ["query", "dispatch", "alarm"];
const moments = ["before", "after"] as const;
const pairs = isWhole ? 20 : 5;
/** The process dies at any call on the first host, and at one of so many on the others. */
const oneCallOf = isWhole ? 1 : 4;

type Host = readonly [name: string, options: TellOptions];

const hosts: readonly Host[] = [
  ["a cloud, one turn an invocation", { platform: "cloud", batch: 1 }],
  ["Node, many turns an invocation", { platform: "node", batch: 100 }],
  [
    "an embedded database, many turns an invocation",
    { platform: "embedded", batch: 100, invocation: { maxSteps: 1_000 } },
  ],
  ["a cloud, several steps an invocation", { platform: "cloud", batch: 1, invocation: { maxSteps: 10 } }],
];

/** Only the process that makes the call dies. The other one goes on, and another one takes the place of the dead one. */
export const twoProcesses: Host = [
  "two processes, which share the turns",
  { platform: "cloud", batch: 1, processes: 2 },
];

/**
 * `ending`: how the story ends when nothing dies. `expectStory`: what must hold whatever died. `besides`: hosts besides
 * those that every story is told on.
 */
export function describeCrashes(
  name: string,
  tell: Tell,
  ending: RunView["status"] = "completed",
  expectStory: typeof expectSameStory = expectSameStory,
  besides: readonly Host[] = [],
): void {
  const told = [...hosts, ...besides].map(([host, options], place) => ({ host, options, place }));
  describe.each(told)(`${name} on $host`, ({ options, place }) => {
    const database = testDatabase();
    let undisturbed: Told;
    beforeAll(async () => {
      undisturbed = await tell(database, options, () => {});
      expect(undisturbed.view.status).toBe(ending);
    });

    for (const port of ports) {
      for (const when of moments) {
        test(`ends well when its process dies ${when} any one call of ${port}`, { timeout: 180_000 }, async () => {
          const count = countCalls(undisturbed)[port];
          expect(count).toBeGreaterThan(0);
          for (const number of deadlyCalls(count, when)) await survive([{ port, number, when }]);
        });
      }
    }

    test("ends well when its process dies at any two calls", { timeout: 180_000 }, async () => {
      const chance = new Chance(testSeed ?? 2, 0);
      const counts = countCalls(undisturbed);
      const anyDeath = (): Death => {
        const port = chance.pick(ports);
        return { port, number: 1 + chance.below(counts[port]), when: chance.pick(moments) };
      };
      for (let pair = 0; pair < pairs; pair += 1) {
        const [one, other] = [anyDeath(), anyDeath()];
        if (one.port !== other.port || one.number !== other.number) await survive([one, other]);
      }
    });

    /** Numbers of calls. Hosts, and the moments before and after, leave out different ones. */
    function deadlyCalls(count: number, when: Death["when"]): readonly number[] {
      const all = Array.from({ length: count }, (_, index) => index + 1);
      const step = place === 0 ? 1 : Math.min(oneCallOf, count);
      const first = place + (when === "after" ? 2 : 0);
      return all.filter((number) => number % step === first % step);
    }

    async function survive(deaths: readonly Death[]): Promise<void> {
      try {
        const told = await tellWithDeaths(tell, database, options, deaths);
        await expectStory(told, undisturbed);
        await told.world.end();
      } catch (error) {
        const died = deaths.map(({ port, number, when }) => `${when} ${port} ${number}`).join(" and ");
        throw new Error(`died ${died}: ${String(error)}`, { cause: error });
      }
    }
  });
}
