/** What the deletion of a run drops beside the run's own rows: signals that wait for it, and what deliveries have brought to it. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, type Run } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "a deletion, beside the run",
  (database) => {
    const stage = stageOn(database);
    const anOldRun = async (id?: string) => {
      const run = await aRunAtWork(stage, id === undefined ? {} : { id });
      await run.finish(stage.onlooker, { token: "first", next: "completed", value: "0null" });
      return run;
    };
    const namespaceOf = async () => (await stage.look("select namespace from layover.run limit 1"))[0]?.["namespace"];

    /** A delivery with a body. `runs`: those that its deeds tell. */
    async function aDelivery(id: string, runs: readonly Run[], more: Readonly<Record<string, string>> = {}) {
      const { webhook = "post", namespace = await namespaceOf(), outcome = "done" } = more;
      await stage.onlooker.query(
        `insert into layover.delivery (namespace, webhook, id, outcome, reason, deeds, headers, event, attempts, received_at, decided_at)
           values ($1, $2, $3, $4, case when $4 <> 'done' then 'why' end, $5, '{}', '"body"', 1, layover.now(), layover.now())`,
        [namespace, webhook, id, outcome, JSON.stringify(runs.map((run) => ({ runId: run.id, outcome: "started" })))],
      );
    }

    /** A signal that waits for the run with this id, of a delivery. */
    async function aKeptSignal(id: string, delivery: string, { workflow = "flow", namespace = "" } = {}) {
      await stage.onlooker.query(
        `insert into layover.kept_signal (namespace, workflow, user_id, id, webhook, delivery, name, payload, kept_at, due_at, expires_at)
           values ($1, $2, $3, $4, 'post', $5, 'go', '0null', layover.now(), layover.now(), layover.now())`,
        [namespace || (await namespaceOf()), workflow, id, randomUUID(), delivery],
      );
    }

    const bodies = async () =>
      (
        await stage.look("select id from layover.delivery where event is not null and headers is not null order by id")
      ).map(({ id }) => id);
    const waiting = async () =>
      (await stage.look("select delivery from layover.kept_signal order by 1")).map((row) => row["delivery"]);
    const remove = (session: Session, run: Run) => session.call("delete_run", { runId: run.id, callId: randomUUID() });
    const removeMany = (session: Session, more: object = {}) =>
      session.call("operate_runs", {
        ...{ verb: "delete", filter: { workflow: "flow" }, callId: "019b799d-0000-7000-8000-0000000000ff" },
        ...{ limit: 10, walk: 100, armed: [], ...more },
      });

    test("drops the bodies of deliveries that came to the run, and of no others, and keeps what became of them", async () => {
      const [run, other] = [await anOldRun(), await anOldRun()];
      await aDelivery("both", [other, run]);
      await aDelivery("refused", [run], { outcome: "refused" });
      await aDelivery("others", [other]);
      await aDelivery("without deeds", []);
      await aDelivery("elsewhere", [run], { namespace: "elsewhere" });
      expect(await remove(stage.onlooker, run)).toMatchObject({ outcome: "deleted" });
      expect(await bodies()).toEqual(["elsewhere", "others", "without deeds"]);
      expect(
        await stage.look("select id, outcome, reason from layover.delivery where event is null order by id"),
      ).toEqual([
        { id: "both", outcome: "done", reason: null },
        { id: "refused", outcome: "refused", reason: "its run was deleted" },
      ]);
    });

    test.each([["default"], [undefined]])("does so for all runs of a page, of the namespace %s", async (namespace) => {
      const [run, other] = [await anOldRun(), await anOldRun()];
      const live = await aRunAtWork(stage);
      await aDelivery("one", [run]);
      await aDelivery("two", [other]);
      await aDelivery("live", [live]);
      expect(await removeMany(stage.onlooker, { namespace })).toMatchObject({
        outcomes: { deleted: 2 },
        refused: [{ runs: 1 }],
      });
      expect(await bodies()).toEqual(["live"]);
    });

    test("drops signals that wait for the run, with the bodies that brought them, and no others", async () => {
      const run = await anOldRun("o1");
      await anOldRun("o2");
      for (const id of ["d1", "d2", "d3", "d4"]) await aDelivery(id, []);
      await aDelivery("d1", [], { webhook: "other" });
      await aDelivery("d1", [], { namespace: "elsewhere" });
      await aKeptSignal("o1", "d1");
      await aKeptSignal("o2", "d2");
      await aKeptSignal("o1", "d3", { workflow: "other" });
      await aKeptSignal("o1", "d4", { namespace: "elsewhere" });
      await remove(stage.onlooker, run);
      expect(await waiting()).toEqual(["d2", "d3", "d4"]);
      expect(await bodies()).toEqual(["d1", "d1", "d2", "d3", "d4"]);
    });

    test("leaves out a delivery that somebody carries out at that moment, and does not wait for it", async () => {
      const run = await anOldRun();
      await aDelivery("d1", [run]);
      const holder = await stage.hold("select from layover.delivery for update");
      expect(await remove(stage.onlooker, run)).toMatchObject({ outcome: "deleted" });
      await holder.commit();
      expect(await bodies()).toEqual(["d1"]);
    });
  },
  { perTest: true },
);
