/** The claim of a run is granted and answered alike, whether it comes alone or in a set. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aDemand, aRecord, aRun, minute, noon, type Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

interface Have {
  readonly epoch: number;
  readonly position: number;
  readonly version?: number;
  readonly rowsThrough?: number;
}
interface Claim {
  readonly turn?: number;
  readonly have?: Have;
  readonly groupSize?: number;
  /** Further keys of the call itself. */
  readonly [key: string]: unknown;
}

describeSomePostgres(
  "a run",
  (database) => {
    const stage = stageOn(database);
    const claimAll = async (runs: readonly Run[], { turn = 1, have, groupSize = runs.length, ...more }: Claim = {}) => {
      const terms_ = { ...terms, knowsEpochs: true, ...more };
      const turns = runs.map((run) =>
        run.toClaim({ token: `turn ${turn}`, turn, groupSize, ...(have !== undefined && { have }) }),
      );
      return (await stage.onlooker.call("claim_turns", { ...terms_, turns })).turns;
    };
    const several = async (count: number) => {
      const runs: Run[] = [];
      for (let number = 0; number < count; number += 1) runs.push(await aRun(stage, { encodedInput: '0"first"' }));
      return runs;
    };
    const set = (assignments: string) => stage.onlooker.query(`update layover.run_state set ${assignments}`);

    describe.each([
      ["that is claimed alone", 1],
      ["of a set", 2],
    ])("%s", (_, count) => {
      const each = (answer: object) => Array.from({ length: count }, () => answer);

      test("goes nowhere in a database that was copied from another one", async () => {
        const runs = await several(count);
        await stage.onlooker.query("update layover.environment set identity = 'another'");
        expect(await claimAll(runs)).toEqual(each({ outcome: "wrong_environment" }));
      });

      test("goes alone after four lost leases", async () => {
        const runs = await several(count);
        await set("lost = 4");
        expect(await claimAll(runs)).toMatchObject(
          each(count > 1 ? { outcome: "alone", groupSize: 1 } : { outcome: "claimed", claims: 1 }),
        );
      });

      /** Each is in its second epoch, has recorded a step, and is ready for its next turn. */
      const inTheirSecondEpoch = async (more: { readonly sleeps?: boolean } = {}) => {
        const runs = await several(count);
        await claimAll(runs);
        for (const run of runs) {
          await run.finish(stage.onlooker, { token: "turn 1", next: "completed", value: "0null" });
          const restart = { runId: run.id, callId: randomUUID(), encodedInput: '0"second"', armed: [soon] };
          await stage.onlooker.call("restart_run", restart);
        }
        await claimAll(runs, { turn: 3 });
        for (const run of runs) {
          const step = {
            token: "turn 3",
            records: [aRecord("step", "charge")],
            patches: [{ path: "newer", position: 1 }],
          };
          const sleep = aDemand("sleep", "nap", { until: noon + 10 * second, demandedAfter: 1 });
          await run.finish(stage.onlooker, more.sleeps ? { ...step, demands: [sleep] } : { ...step, next: "ready" });
        }
        return runs;
      };

      test("is not here for code of a release that knows no epochs, unless it is in the first one", async () => {
        const runs = await inTheirSecondEpoch();
        expect(await claimAll(runs, { turn: 4, knowsEpochs: undefined })).toMatchObject(each({ outcome: "not_here" }));
        expect(await claimAll(runs, { turn: 4 })).toMatchObject(each({ outcome: "claimed", epoch: 1 }));
      });

      const records = [expect.arrayContaining(["step", "charge"])];
      const all = { have: null, run: { input: '0"second"' }, patches: [{ path: "newer", position: 1 }], records };
      test.each<[string, Have | undefined, object]>([
        ["nothing", undefined, all],
        ["an epoch before", { epoch: 0, position: 1, version: 1 }, all],
        ["another version", { epoch: 1, position: 1, version: 2 }, all],
        ["more than there is", { epoch: 1, position: 2, version: 1 }, all],
        ["less", { epoch: 1, position: 0, version: 1 }, { ...all, run: null, have: 0 }],
      ])("is handed what its process does not have, which has %s", async (_, have, told) => {
        const runs = await inTheirSecondEpoch();
        const claimed = each({ outcome: "claimed", position: 1, ...told });
        expect(await claimAll(runs, { turn: 4, ...(have !== undefined && { have }) })).toMatchObject(claimed);
      });

      const whole = { epoch: 1, position: 1, version: 1 };
      test.each([
        ["as the releases of now say it", whole],
        ["as one before says it", { epoch: 1, position: 1 }],
      ])("is handed nothing that its process has, %s", async (_, have) => {
        const runs = await inTheirSecondEpoch();
        const told = await claimAll(runs, { turn: 4, have });
        expect(told).toMatchObject(each({ outcome: "claimed", have: 1, position: 1 }));
        for (const key of ["records", "patches", "run", "pending"])
          for (const one of told) expect(Object(one)[key] ?? null).toBeNull();
      });

      test("is handed what it waits for, though its process has its history", async () => {
        const runs = await inTheirSecondEpoch({ sleeps: true });
        await stage.clock.set(noon + 10 * second);
        const told = await claimAll(runs, { turn: 4, have: { ...whole, rowsThrough: 0 } });
        expect(told).toMatchObject(each({ outcome: "claimed", have: 1, pending: expect.anything() }));
      });

      test("is told when it was ready, unless that is as soon as something came", async () => {
        const runs = await inTheirSecondEpoch({ sleeps: true });
        await stage.clock.set(noon + 20 * second);
        expect(await claimAll(runs, { turn: 4 })).toMatchObject(each({ readyAt: noon + 10 * second }));
        const others = await several(count);
        expect(await claimAll(others)).toMatchObject(each({ readyAt: null }));
      });

      test("is handed the changes of its code that it met before its first record", async () => {
        const runs = await several(count);
        await claimAll(runs);
        for (const run of runs)
          await run.finish(stage.onlooker, {
            token: "turn 1",
            next: "ready",
            patches: [{ path: "newer", position: 0 }],
          });
        const told = await claimAll(runs, { turn: 2 });
        expect(told).toMatchObject(each({ position: 0, patches: [{ path: "newer", position: 0 }] }));
      });

      test("is handed its mail, though its process has its history", async () => {
        const runs = await inTheirSecondEpoch();
        for (const run of runs) await run.signal(stage.onlooker, "go");
        const told = await claimAll(runs, { turn: 4, have: whole });
        expect(told).toMatchObject(each({ outcome: "claimed", have: 1, signals: [{ name: "go" }] }));
      });

      test("is told which attempt it had begun, though its process has its history", async () => {
        const runs = await inTheirSecondEpoch();
        await set(`begun = 'charge 1'`);
        const told = await claimAll(runs, { turn: 4, have: whole });
        expect(told).toMatchObject(each({ outcome: "claimed", have: 1, begun: "charge 1" }));
      });
    });

    test("goes in groups of sixteen after two lost leases", async () => {
      const runs = await several(17);
      await set("lost = 2");
      const outcomes = async (some: readonly Run[]) => (await claimAll(some)).map(({ outcome }) => outcome);
      expect(await outcomes(runs)).toEqual(runs.map(() => "alone"));
      expect(await outcomes(runs.slice(1))).toEqual(runs.slice(1).map(() => "claimed"));
    });

    describe("whose namespace", () => {
      const environments = () =>
        stage.look(
          `select namespace, name, identity = layover.identity() as "isOwn" from layover.environment order by namespace`,
        );
      const claimIn = async (namespace: string) =>
        await claimAll([await aRun(stage)], { namespace, environment: "staging", armed: [noon + minute] });

      test("nobody has yet is taken for the environment of the first claim, beside others", async () => {
        await aRun(stage);
        await claimIn("shop");
        expect(await environments()).toMatchObject([
          { namespace: "default", name: "test" },
          { namespace: "shop", name: "staging", isOwn: true },
        ]);
      });

      test("was taken by an earlier release has its database noted, and no other namespace has", async () => {
        const run = await aRun(stage);
        await stage.onlooker.call("adopt_environment", { ...terms, namespace: "shop" });
        await stage.onlooker.query("update layover.environment set identity = null");
        await claimAll([run]);
        expect(await environments()).toMatchObject([
          { namespace: "default", isOwn: true },
          { namespace: "shop", isOwn: null },
        ]);
      });
    });
  },
  { perTest: true },
);
