/**
 * A release of one host alone, while the two others stand. It is a gradual one at first: both builds take requests. Then it is whole, is
 * rolled back, and made once more. The next build has another version of the workflow, and the first version no more. So runs of the first
 * version go on at the others meanwhile, and those of the next one wait while nobody has their code.
 */
import { expect, test } from "vitest";
import { testDatabase } from "../../postgres/database.ts";
import { Traffic } from "./traffic.ts";
import { hosts } from "./workflows.ts";

const database = testDatabase({ perTest: true });
const count = 40;

test.each(hosts)(
  "of %s: nothing is lost or done twice, and no run waits for code that is there",
  {
    timeout: 600_000,
  },
  async (released) => {
    const traffic = await Traffic.open(database);
    const others = hosts.filter((host) => host !== released);
    for (const host of hosts) await traffic.deploy(host);
    for (const host of hosts) await traffic.startMany(host, count, 5);
    await traffic.pass();

    await traffic.share(released, "next");
    await traffic.startMany(released, count / 2, 3, "next");
    await traffic.startMany(released, count / 4, 2);
    await traffic.pass();

    await traffic.startMany(released, count / 4, 2); // these are at work when the release comes
    await traffic.release(released, "next");
    const releasedAt = traffic.now();
    await traffic.startMany(released, count / 2, 4, "next");
    for (const host of others) await traffic.signalSome(host, 2);
    await traffic.pass(2);
    const rolledBackAt = traffic.now();

    await traffic.release(released, "first");
    const endedBefore = traffic.endedOf("next");
    expect(endedBefore).toBeGreaterThan(0);
    await traffic.pass(2);
    expect(traffic.endedOf("next")).toBe(endedBefore);

    await traffic.release(released, "next");
    const againAt = traffic.now();
    for (let minute = 0; minute < 4; minute += 1) {
      await traffic.signalSome(released, 10);
      await traffic.pass();
    }

    const ended = await traffic.judge(released, { from: rolledBackAt, until: againAt });
    for (const run of traffic.runs) {
      const { places, at } = ended.get(run) ?? { places: [], at: 0 };
      if (run.build === "next") expect(places).toEqual([`before on ${released}`, `after on ${released}`]);
      else if ((at > releasedAt && at < rolledBackAt) || at > againAt) expect(places[1]).not.toContain(released);
    }
  },
);
