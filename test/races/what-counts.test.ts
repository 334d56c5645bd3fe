/** Which rows count when a turn is finished: those of the run itself, of its epoch, that nobody has taken, and that came in time. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { aChild } from "./invoking.ts";
import { type Columns, ended, rowsOn } from "./rows.ts";
import { aDemand, aRecord, aRunAtWork, at, minute, noon, Run, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";
import { anEnd } from "./undoing.ts";

describeSomePostgres(
  "of all the rows",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "the end of a run has reached the one that waits for it",
        "a run that is over has neither leases, nor pending rows, nor a due instant",
        "a signal is taken once, by a record of its kind with its payload",
        "a map counts the branches that it waits for",
        "what is queued has somebody ahead in its map",
        "nothing is left of a run that is gone",
        "a parked run with a record that its handler has not seen is ready, unless its map waits for more",
        "a parked run that a signal or an answer waits for is ready",
      ],
    });
    const later = noon + 60 * minute;
    const two = async () => ({ run: await aRunAtWork(stage), other: await aRunAtWork(stage) });
    const { wait, answer } = rowsOn(stage);
    const child = (run: Run, more: Columns = {}) => wait(run, "child", { child_run_id: "gen_random_uuid()", ...more });
    const soonOver = "layover.now() + interval '1 ms'";
    type Arrange = (runs: { readonly run: Run; readonly other: Run }) => Promise<unknown>;
    const all =
      (...parts: readonly Arrange[]): Arrange =>
      async (runs) => {
        for (const part of parts) await part(runs);
      };

    describe("a run that parks is ready again by those alone that end its wait:", () => {
      test.each<readonly [what: string, arrange: Arrange, isReady: boolean]>([
        [
          "an answer",
          all(
            ({ run }) => wait(run, "callback"),
            ({ run }) => answer(run),
          ),
          true,
        ],
        [
          "one that another run waits for",
          all(
            ({ other }) => wait(other, "callback"),
            ({ run }) => answer(run),
          ),
          false,
        ],
        [
          "one of another run",
          all(
            ({ other }) => wait(other, "callback"),
            ({ other }) => answer(other),
          ),
          false,
        ],
        [
          "one of another occurrence",
          all(
            ({ run }) => wait(run, "callback"),
            ({ run }) => answer(run, { occurrence: "2" }),
          ),
          false,
        ],
        [
          "one of another epoch",
          all(
            ({ run }) => wait(run, "callback"),
            ({ run }) => answer(run, { epoch: "5" }),
          ),
          false,
        ],
        [
          "one of the epoch of its URL",
          all(
            ({ run }) => wait(run, "callback", { callback_epoch: "5" }),
            ({ run }) => answer(run, { epoch: "5" }),
          ),
          true,
        ],
        ["the end of a run", ({ run }) => child(run, ended), true],
        [
          "one at the last instant",
          ({ run }) => child(run, { ...ended, until: soonOver, child_ended_at: soonOver }),
          true,
        ],
        [
          "one that came too late",
          ({ run }) => child(run, { ...ended, until: soonOver, child_ended_at: "layover.now() + interval '2 ms'" }),
          false,
        ],
        ["one that it waits for no more", ({ run }) => child(run, { ...ended, is_released: "true" }), false],
        ["one that another run waits for", ({ other }) => child(other, ended), false],
      ])("%s", async (_, arrange, isReady) => {
        const runs = await two();
        await arrange(runs);
        await runs.run.signal(stage.onlooker, "noise");
        const demands = [aDemand("sleep", "nap", { until: later })];
        expect(await runs.run.finish(stage.onlooker, { token: "first", demands })).toMatchObject({ isReady });
      });
    });

    describe("a turn is deferred by those alone that it rules out:", () => {
      const announces = { closes: [], announces: { ...at("it"), epoch: 0 } };
      test.each<readonly [what: string, finish: object, arrange: Arrange, outcome: string]>([
        ["a signal", { closes: ["go"] }, ({ run }) => run.signal(stage.onlooker, "go"), "deferred"],
        [
          "one that is taken",
          { closes: ["go"] },
          all(
            ({ run }) => run.signal(stage.onlooker, "go"),
            () => stage.onlooker.query("update layover.signal set position = 0"),
          ),
          "finished",
        ],
        ["an answer", announces, ({ run }) => answer(run), "deferred"],
        ["one of another run", announces, ({ other }) => answer(other), "finished"],
        ["one of another epoch", announces, ({ run }) => answer(run, { epoch: "5" }), "finished"],
        ["one of another place", announces, ({ run }) => answer(run, { path: "'other'" }), "finished"],
        ["one of another occurrence", announces, ({ run }) => answer(run, { occurrence: "2" }), "finished"],
        ["one that is taken", announces, ({ run }) => answer(run, { position: "0" }), "finished"],
      ])("%s", async (_, finish, arrange, outcome) => {
        const runs = await two();
        await arrange(runs);
        expect(await runs.run.finish(stage.onlooker, { token: "first", ...finish })).toMatchObject({ outcome });
      });
    });

    describe("a run closes before it ends by those alone that are at work:", () => {
      const lease = (leasedUntil: string) => ({ token: "gen_random_uuid()", leased_until: leasedUntil });
      const bound = { child_bond: "'cancel'" };
      const left = { child_bond: "'cancelled'", is_released: "true" };
      test.each<readonly [what: string, arrange: Arrange, closes: boolean]>([
        ["a branch", ({ run }) => wait(run, "branch", lease(soonOver)), true],
        ["one whose lease is over", ({ run }) => wait(run, "branch", lease("layover.now()")), false],
        ["one of another run", ({ other }) => wait(other, "branch", lease(soonOver)), false],
        ["a run that ends with it", ({ run }) => child(run, bound), true],
        ["one that goes on without it", ({ run }) => child(run), false],
        ["one that has ended", ({ run }) => child(run, { ...bound, ...ended }), false],
        [
          "one that was left, and was not asked to end yet",
          ({ run }) => child(run, { ...bound, is_released: "true" }),
          true,
        ],
        [
          "one that was asked to end, and may do so for a while",
          ({ run }) => child(run, { ...left, until: soonOver }),
          true,
        ],
        ["one that might end until now", ({ run }) => child(run, { ...left, until: "layover.now()" }), false],
        ["one that was asked to end, and has", ({ run }) => child(run, { ...left, until: soonOver, ...ended }), false],
      ])("%s", async (_, arrange, closes) => {
        const runs = await two();
        await arrange(runs);
        await stage.onlooker.query("update layover.run_state set has_pending = true");
        await runs.run.finish(stage.onlooker, anEnd());
        const row = await stage.look("select is_closing from layover.run_state where run_id = $1", [runs.run.id]);
        expect(row).toEqual([{ is_closing: closes }]);
      });
    });

    describe("a run that parks is looked at for those branches alone that a turn may claim:", () => {
      test.each<readonly [what: string, more: Columns, dueAt: number]>([
        ["one that is ready", {}, soon],
        ["one that is recorded", { position: "1" }, later],
        ["one that queues", { is_queued: "true", map: "'all'" }, later],
        ["one that has lost a race", { is_released: "true" }, later],
      ])("%s", async (_, more, dueAt) => {
        const { run } = await two();
        await wait(run, "branch", { ready_at: "layover.now()", ...more });
        await stage.onlooker.query("update layover.run_state set due_at = null");
        const demands = [aDemand("sleep", "nap", { until: later })];
        await run.finish(stage.onlooker, { token: "first", demands, armed: [soon, later] });
        expect(await run.state()).toMatchObject({ dueAt });
      });
    });

    describe("a turn that goes on waits for none of its family but what it has left:", () => {
      test.each<readonly [what: string, change: string]>([
        ["a run that it waits for", "set is_released = false where run_id = $1"],
        ["one that goes on without it", "set is_released = true, child_bond = null where run_id = $1"],
        ["one that was asked to end", "set is_released = true, child_bond = 'cancelled' where run_id = $1"],
        [
          "one that has ended",
          "set is_released = true, child_status = 'completed', child_ended_at = layover.now() where run_id = $1",
        ],
        ["one that another run has left", "set is_released = true where run_id <> $1"],
      ])("%s", async (_, change) => {
        const families = [];
        for (const parent of Object.values(await two())) {
          const start = aChild("it", { isBound: true });
          await parent.finish(stage.onlooker, { token: "first", children: [start] });
          families.push({ parent, child: new Run(stage, start.runId) });
        }
        const [family] = families;
        if (family === undefined) throw new Error("There is no family.");
        await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [
          family.parent.id,
        ]);
        await family.parent.claim(stage.onlooker, { token: "second", turn: 2 });
        await stage.onlooker.query(`update layover.pending ${change}`, [family.parent.id]);
        await stage.hold("select from layover.run_state where run_id = $1 for update", [family.child.id]);
        await stage.onlooker.query("set statement_timeout = '5s'");
        const records = [aRecord("step", "a"), aRecord("step", "b")];
        const told = await family.parent.finish(stage.onlooker, { token: "second", next: "ready", records });
        expect(told).toMatchObject({ outcome: "finished" });
      });
    });

    describe("a run is blocked where no deployment is left that may have code for it:", () => {
      const note = (deployment: string, versions: Readonly<Record<string, readonly number[]>>) =>
        noteOn(stage)(deployment, deployment, { versions });
      const refuse = async (run: Run) => {
        const turn = run.toFinish({ token: "first", next: "blocked", value: "no such step" });
        await stage.onlooker.call("finish_turns", { ...terms, turns: [{ ...turn, deployment: "green" }] });
        return (await run.state())["blocked"];
      };

      test.each([
        ["one with its version is there", { flow: [1] }, null],
        ["one with other versions is there", { flow: [2] }, "no such step"],
        ["one with other workflows is there", { other: [1] }, "no such step"],
      ])("%s", async (_, versions, blocked) => {
        const { run } = await two();
        await note("green", { flow: [1] });
        await note("blue", versions);
        expect(await refuse(run)).toBe(blocked);
      });

      test.each([
        ["one that has refused it and was deployed again since is there", 1, null],
        ["one that has refused it since it was deployed is there", -1, "no such step"],
      ])("%s", async (_, before, blocked) => {
        const { run } = await two();
        for (const deployment of ["green", "blue"]) await note(deployment, { flow: [1] });
        await stage.onlooker.query("update layover.run_state set refused_by = $1", [
          JSON.stringify({ blue: { at: noon - before, why: "no" } }),
        ]);
        expect(await refuse(run)).toBe(blocked);
      });
    });
  },
  { perTest: true },
);
