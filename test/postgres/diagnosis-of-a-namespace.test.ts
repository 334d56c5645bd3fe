/**
 * What the doctor is told of a namespace beside what keeps its runs: undos that failed, other contracts, the last
 * turn, whose database this is.
 */
import { describe, expect, test } from "vitest";
import { aRun, aStart, minute, noon, Run, terms } from "../races/runs.ts";
import { describeEachPostgres } from "./database.ts";
import { diagnosing } from "./diagnosing.ts";

const hour = 60 * minute;

describeEachPostgres(
  "the diagnosis",
  (database) => {
    const { stage, diagnose, set, aRunOf } = diagnosing(database);

    describe("of runs of which an undo failed for good", () => {
      const over = (undos: number, daysAgo: number, more = "") =>
        `status = 'failed', error = '0{}', ready_at = null, due_at = null, failed_undos = ${undos},
         ended_at = layover.now() - interval '${daysAgo} days'${more}`;

      test("names how many, by workflow and version, and the one that ended last", async () => {
        const [one, two, other] = [await aRunOf("mail"), await aRunOf("mail"), await aRunOf("film", 2)];
        await set(one, over(2, 1));
        await set(two, over(1, 3));
        await set(other, over(1, 2));
        await set(await aRunOf("mail"), over(0, 1));
        expect((await diagnose()).halfUndone).toEqual([
          { workflow: "mail", version: 1, runs: 2, undos: 3, since: noon - 72 * hour, example: one.id },
          { workflow: "film", version: 2, runs: 1, undos: 1, since: noon - 48 * hour, example: other.id },
        ]);
      });

      test("says nothing about those of another namespace, and those that ended a week ago", async () => {
        await set(await aRun(stage), over(1, 7));
        await set(await aRun(stage), over(1, 1, ", namespace = 'elsewhere'"));
        expect((await diagnose()).halfUndone).toEqual([]);
      });

      test("looks at the 1,000 newest that failed", async () => {
        await stage.look(`with run as (
            insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
              select layover.new_id(), 'default', 'many', 1, '0{}', true, layover.now() from generate_series(1, 1001)
              returning id)
          insert into layover.run_state (run_id, namespace, status, last_record_at, error, ended_at)
            select id, 'default', 'failed', layover.now(), '0{}', layover.now() from run`);
        const oldest = await stage.look("select run_id::text as id from layover.run_state order by run_id limit 2");
        const [first, second] = oldest.map(({ id }) => new Run(stage, String(id)));
        if (first === undefined || second === undefined) throw new Error("there are 1,001 runs");
        await set(first, "failed_undos = 1");
        expect((await diagnose()).halfUndone).toEqual([]);
        await set(second, "failed_undos = 1");
        expect((await diagnose()).halfUndone).toMatchObject([{ runs: 1, example: second.id }]);
      });
    });

    describe("of runs that wait for runs that they have cancelled", () => {
      const waits = async (run: Run, child: string, minutesAgo: number, more = "", row = "null") => {
        await set(run, `is_closing = true${more}`);
        await stage.look(
          `insert into layover.pending (run_id, path, occurrence, kind, demanded_after, ordinal, until, child_run_id, child_bond, child_status, is_released)
             values ($1, $4, 1, 'child', 0, 1, layover.now() + interval '1 day' - $3 * interval '1 minute', $2, 'cancelled', ${row}, true)`,
          [run.id, child, minutesAgo, child],
        );
      };
      const childOf = (number: number) => `00000000-0000-7000-8000-00000000000${number}`;

      test("names how many, by workflow and version, since when, and for whom the first one waits", async () => {
        const [one, two, other] = [await aRunOf("mail"), await aRunOf("mail"), await aRunOf("film", 2)];
        await waits(one, childOf(1), 5);
        await waits(two, childOf(2), 4);
        await waits(two, childOf(3), 20);
        await waits(other, childOf(4), 3);
        expect((await diagnose()).closing).toEqual([
          {
            ...{ workflow: "mail", version: 1, runs: 2, since: noon - 20 * minute },
            ...{ example: two.id, waitsFor: childOf(3) },
          },
          {
            ...{ workflow: "film", version: 2, runs: 1, since: noon - 3 * minute },
            ...{ example: other.id, waitsFor: childOf(4) },
          },
        ]);
      });

      test("says nothing about new waits, those that are over, and runs that wait for an end or lost it", async () => {
        const runs = await Promise.all(Array.from({ length: 6 }, () => aRun(stage)));
        const [young, old, ended, open, elsewhere, asleep] = runs;
        if (!young || !old || !ended || !open || !elsewhere || !asleep) throw new Error("there are six");
        await waits(young, childOf(1), 2);
        await waits(old, childOf(2), 24 * 60);
        await waits(ended, childOf(3), 5, "", "'completed'");
        await waits(open, childOf(4), 5);
        await set(open, "is_closing = false");
        await waits(elsewhere, childOf(5), 5, ", namespace = 'elsewhere'");
        await waits(asleep, childOf(6), 5);
        await stage.look("update layover.pending set kind = 'sleep', child_bond = null where run_id = $1", [asleep.id]);
        expect((await diagnose()).closing).toEqual([]);
      });

      test("looks at the thousand newest that are not over", async () => {
        const run = await aRun(stage, { runId: childOf(0) });
        await waits(run, childOf(1), 5);
        await stage.look(
          `with made as (
             insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
               select layover.new_id(), 'default', 'mail', 1, '0null', true, layover.now() from generate_series(1, 1000) returning id
           ) insert into layover.run_state (run_id, namespace, status, last_record_at, ended_at, result)
               select m.id, 'default', 'completed', layover.now(), layover.now(), '0null' from made m`,
        );
        expect((await diagnose()).closing).toMatchObject([{ example: run.id }]);
        await stage.look(
          "update layover.run_state set status = 'parked', ended_at = null, result = null where status = 'completed'",
        );
        expect((await diagnose()).closing).toEqual([]);
      });
    });

    describe("of runs that were started with another contract than those that are deployed", () => {
      const sign = (run: Run, signature: string) =>
        stage.onlooker.query("update layover.run set signature = $2 where id = $1", [run.id, signature]);
      const deploy = (deployment: string, signatures: object | undefined) =>
        stage.onlooker.call("note_deployment", {
          ...{ namespace: "default", environment: "default", endpoint: database.query.endpoint, note: "deployed" },
          ...{ deploymentName: "node", deployment, versions: { mail: [1, 2], film: [1] }, signatures },
        });

      test("names how many are not over, by workflow and version, and the newest of them", async () => {
        await deploy("b1", { mail: { 1: "new", 2: "same" }, film: { 1: "same" } });
        const [one, two] = [await aRunOf("mail"), await aRunOf("mail")];
        const [other, same, over] = [await aRunOf("mail", 2), await aRunOf("film"), await aRunOf("mail")];
        for (const run of [one, two, over]) await sign(run, "old");
        await sign(other, "old");
        await sign(same, "same");
        await aRunOf("mail"); // of a release that kept none
        await set(over, "status = 'completed', result = '0', ready_at = null, due_at = null, ended_at = layover.now()");
        expect((await diagnose()).otherContracts).toEqual([
          { workflow: "mail", version: 1, runs: 2, example: [one.id, two.id].toSorted()[1] },
          { workflow: "mail", version: 2, runs: 1, example: other.id },
        ]);
      });

      test("says nothing where one of the live deployments has that contract, or none has told", async () => {
        await deploy("b1", { mail: { 1: "old" } });
        await deploy("b2", { mail: { 1: "new" } });
        await sign(await aRunOf("mail"), "old");
        await sign(await aRunOf("film"), "old");
        expect((await diagnose()).otherContracts).toEqual([]);
      });
    });

    test("tells when a turn ended last, of the runs that had one", async () => {
      expect((await diagnose()).lastTurnAt).toBeNull();
      const at = (run: Run, minutes: number, more = "handed_position = 0") =>
        set(run, `last_record_at = layover.now() + interval '${minutes} minutes', ${more}`);
      await at(await aRun(stage), 9, "handed_position = -1");
      await at(await aRun(stage), 3);
      await at(await aRun(stage), 2, "handed_position = 1");
      expect((await diagnose()).lastTurnAt).toBe(noon + 3 * minute);
      const over = (minutes: number) =>
        `status = 'completed', result = '0null', ready_at = null, due_at = null, ended_at = layover.now() + interval '${minutes} minutes'`;
      await set(await aRun(stage), over(5));
      await set(await aRun(stage), over(4));
      await set(await aRun(stage), `${over(8)}, namespace = 'elsewhere'`);
      expect((await diagnose()).lastTurnAt).toBe(noon + 5 * minute);
      await at(await aRun(stage), 6);
      expect((await diagnose()).lastTurnAt).toBe(noon + 6 * minute);
    });

    test("knows whose database it is, and who else has something there", async () => {
      expect(await diagnose()).toMatchObject({ environment: null, otherNamespaces: [], hasRuns: false, isCut: false });
      for (const namespace of ["default", ...Array.from({ length: 11 }, (_, n) => `shop ${10 + n}`)])
        await stage.onlooker.call("adopt_environment", { ...terms, environment: `of ${namespace}`, namespace });
      await stage.onlooker.call("start_run", { ...aStart(), namespace: "shop 10" });
      expect(await diagnose()).toMatchObject({
        environment: { name: "of default", endpoint: "here", adoptedAt: noon },
        otherNamespaces: Array.from({ length: 10 }, (_, n) => `shop ${10 + n}`),
        hasRuns: false,
      });
      expect(await diagnose("shop 10")).toMatchObject({ environment: { name: "of shop 10" }, hasRuns: true });
    });

    test("knows the deployments that are alive, when each was seen, and what it carries", async () => {
      const note = async (deployment: string, versions: Readonly<Record<string, readonly number[]>>) =>
        await stage.onlooker.call("note_deployment", {
          ...terms,
          deploymentName: "node",
          deployment,
          note: "deployed",
          versions,
        });
      await note("build 1", { order: [1] });
      await stage.clock.advance(minute);
      await note("build 2", { order: [1, 2] });
      const [two, one] = [noon + minute, noon];
      expect((await diagnose()).deployments).toEqual([
        { name: "node", id: "build 2", versions: { order: [1, 2] }, deployedAt: two, seenAt: two, wakeAddress: null },
        { name: "node", id: "build 1", versions: { order: [1] }, deployedAt: one, seenAt: one, wakeAddress: null },
      ]);
      expect((await diagnose("shop")).deployments).toEqual([]);
    });

    test("is of the same hour that the database has", async () => {
      await stage.clock.advance(hour);
      expect((await diagnose()).now).toBe(noon + hour);
    });
  },
  { perTest: true },
);
