/** Schedules that skip a firing while a run of theirs is at work: whichever run that is, and whatever became of it before. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon, Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "schedules that skip while a run of theirs is at work",
  (database) => {
    const stage = stageOn(database);
    const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
    let now = noon;

    const create = async (more: object = {}) =>
      await stage.onlooker.call("create_schedule", {
        ...{ name: "a", definition: { ...definition, ...more }, replaces: true },
        armed: [now + hour],
      });
    const fire = async (by: Session = stage.onlooker, more: object = {}) =>
      await by.call("fire_schedules", { ...terms, names: ["a"], armed: [now + minute, now + hour], ...more });
    /** Lets the next instant come. */
    const pass = async () => {
      now += hour;
      await stage.clock.set(now);
    };
    const passAndFire = async () => {
      await pass();
      return await fire();
    };
    const trigger = async (more: object = {}) => {
      const told = await stage.onlooker.call("trigger_schedule", {
        ...{ name: "a", runId: randomUUID(), armed: [now + minute], ...more },
      });
      return new Run(stage, told.runId ?? "");
    };
    const end = async (run: Run, next: "completed" | "failed" = "completed") => {
      const turns = [run.toClaim({ token: "end", turn: Number((await run.state())["turn"]) })];
      await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
      const value = next === "failed" ? '0{"message":"no"}' : "0null";
      expect(await run.finish(stage.onlooker, { token: "end", next, value })).toMatchObject({ status: next });
    };
    const restart = async (run: Run, by: Session = stage.onlooker) =>
      await by.call("restart_run", { runId: run.id, callId: randomUUID(), armed: [now + minute] });
    const remembered = async (whose = ["default", "a"]) =>
      (
        await stage.look(
          "select run_id from layover.scheduled_run where namespace = $1 and schedule = $2 order by 1",
          whose,
        )
      ).map(({ run_id }) => run_id);
    const begin = async (more: object = {}) => {
      now = noon;
      await create(more);
    };
    /** The answer to a firing that was left out, with the run that is at work. */
    const skipFor = (run: Run) => ({ runs: [], skips: [{ skip: { cause: "overlap", runId: run.id } }] });

    test("count one that is not the last one, after a trigger that ignores the overlap", async () => {
      await begin();
      const first = await trigger();
      await end(await trigger({ ignoresOverlap: true }));
      expect(await passAndFire()).toMatchObject(skipFor(first));
      await end(first);
      expect(await passAndFire()).toMatchObject({ runs: [{ schedule: "a" }], skips: [] });
    });

    test("count one from the time when they allowed overlaps", async () => {
      await begin({ overlap: "allow" });
      const first = await trigger();
      await end(await trigger());
      await create();
      expect(await passAndFire()).toMatchObject(skipFor(first));
    });

    test("leave out a trigger for it, too", async () => {
      await begin();
      const first = await trigger();
      await end(await trigger({ ignoresOverlap: true }));
      const call = { name: "a", runId: randomUUID(), armed: [now + minute] };
      expect(await stage.onlooker.call("trigger_schedule", call)).toMatchObject({
        outcome: "skipped",
        skip: { cause: "overlap", runId: first.id },
      });
    });

    test("forget a run that is over, and count it again once it goes on", async () => {
      await begin();
      const first = await trigger();
      await end(first);
      const { runs } = await passAndFire();
      const second = new Run(stage, runs[0]?.runId ?? "");
      expect(await remembered()).toEqual([second.id]);
      await end(second);
      await restart(first);
      expect(await passAndFire()).toMatchObject(skipFor(first));
      await end(first, "failed");
      await end(await trigger());
      await stage.onlooker.call("retry_run", { runId: first.id, callId: randomUUID(), armed: [now + minute] });
      expect(await passAndFire()).toMatchObject(skipFor(first));
    });

    test("count a fork of a run of theirs", async () => {
      await begin();
      const first = await trigger();
      await end(first);
      const forked = await stage.onlooker.call("fork_run", { runId: first.id, armed: [now + minute] });
      expect(await passAndFire()).toMatchObject({ skips: [{ skip: { runId: forked.runId } }] });
    });

    test("do not count a run that was deleted", async () => {
      await begin();
      const first = await trigger();
      await end(first);
      await stage.onlooker.call("delete_run", { runId: first.id });
      await passAndFire();
      expect(await remembered()).toHaveLength(1);
    });

    test("do not count runs of a schedule of that name that was deleted, until they are restarted", async () => {
      await begin();
      const old = await trigger();
      await stage.onlooker.call("delete_schedule", { name: "a" });
      expect(await remembered()).toEqual([]);
      await end(old);
      await restart(old);
      expect(await remembered()).toEqual([]); // there is no such schedule
      await begin();
      const { runs } = await passAndFire();
      await end(new Run(stage, runs[0]?.runId ?? ""));
      await end(old);
      await restart(old);
      expect(await passAndFire()).toMatchObject(skipFor(old));
    });

    test("forget the runs of a schedule that a build declares no more", async () => {
      now = noon;
      const declare = async (schedules: object, deployment: string) =>
        await stage.onlooker.call("note_deployment", {
          ...{
            deploymentName: "server",
            deployment,
            note: "deployed",
            versions: terms.versions,
            schedules,
            armed: [now + minute],
          },
        });
      await declare({ a: definition }, "one");
      await trigger();
      expect(await remembered()).toHaveLength(1);
      await declare({}, "two");
      expect(await remembered()).toEqual([]);
    });

    describe("while somebody restarts a run that is over", () => {
      const ended = async () => {
        await begin();
        const first = await trigger();
        await end(first);
        return first;
      };

      test("fire, and wait for nobody; then they count it", async () => {
        const first = await ended();
        const person = await stage.session("person");
        await person.begin();
        await restart(first, person);
        const { runs } = await passAndFire();
        await person.end("commit");
        await end(new Run(stage, runs[0]?.runId ?? ""));
        expect(await passAndFire()).toMatchObject(skipFor(first));
      });

      test("have it wait for the firing that forgets the run, and then they count it", async () => {
        const first = await ended();
        await pass();
        const [{ runs }] = await stage.collide({
          first: (session) => fire(session),
          second: (session) => restart(first, session),
        });
        await end(new Run(stage, runs[0]?.runId ?? ""));
        expect(await passAndFire()).toMatchObject(skipFor(first));
      });

      test("are deleted, and wait for nobody", async () => {
        const first = await ended();
        const person = await stage.session("person");
        await person.begin();
        await restart(first, person);
        expect(await stage.onlooker.call("delete_schedule", { name: "a" })).toMatchObject({ outcome: "deleted" });
        await person.end("commit");
      });
    });

    describe("with many runs", () => {
      /** Adds runs to those that it has started: in the order of their numbers, and all are over but for the first `open`. */
      const add = async (count: number, open: number, [namespace, schedule]: readonly string[] = ["default", "a"]) => {
        const id = "('00000001-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid";
        await stage.look(
          `with made as (
             insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
               select ${id}, 'default', 'flow', 1, '0null', true, layover.now() from generate_series(1, $2::integer) as n returning id
           )
           insert into layover.run_state (run_id, namespace, status, last_record_at)
             select id, 'default', 'parked', layover.now() from made where $1 >= 0`,
          [count, open],
        );
        await stage.look(
          `insert into layover.scheduled_run (namespace, schedule, run_id) select $2, $3, ${id} from generate_series(1, $1) as n`,
          [count, namespace, schedule],
        );
      };

      test("look at a thousand of them at once, and fire in the call that comes to the last one", async () => {
        await begin();
        await add(2_500, 0);
        await pass();
        const more = { listsNext: true };
        expect(await fire(stage.onlooker, more)).toMatchObject({ runs: [], left: 1, next: [{ name: "a" }] });
        expect(await fire(stage.onlooker, more)).toMatchObject({ runs: [], left: 1, next: [{ name: "a" }] });
        expect(await fire(stage.onlooker, more)).toMatchObject({ runs: [{ schedule: "a" }], left: 0, next: null });
        expect(await remembered()).toHaveLength(1);
      });

      test.each([
        ["another schedule", ["default", "other"]],
        ["one of that name in another namespace", ["elsewhere", "a"]],
      ])("look at their own, though %s has a thousand that are older", async (_, whose) => {
        await begin();
        await add(1_000, 0, whose);
        await end(await trigger());
        const { runs } = await passAndFire();
        expect(await remembered(whose)).toHaveLength(1_000);
        expect(await remembered()).toEqual([runs[0]?.runId]);
      });

      test("fire in the first call, though a thousand are over, where runs may overlap", async () => {
        await begin({ overlap: "allow" });
        for (const other of [{ name: "b" }, { name: "a", namespace: "elsewhere" }])
          await stage.onlooker.call("create_schedule", { ...other, definition, armed: [now + hour] });
        await add(1_500, 0);
        expect(await passAndFire()).toMatchObject({ runs: [{ schedule: "a" }], left: 0 });
        expect(await remembered()).toHaveLength(501);
        const swept = "select namespace, name from layover.schedule where swept_through is not null";
        expect(await stage.look(swept)).toEqual([{ namespace: "default", name: "a" }]);
      });

      test("look at the oldest ones again, once runs may overlap no more", async () => {
        await begin({ overlap: "allow" });
        await add(1_200, 1_100);
        await passAndFire();
        await stage.look("delete from layover.run_state where run_id < '00000001-0000-7000-8000-000000000009'");
        await create();
        expect(await passAndFire()).toMatchObject({ skips: [{ skip: { cause: "overlap" } }] });
        expect(await remembered()).not.toContain("00000001-0000-7000-8000-000000000001");
      });

      test("are triggered at once", async () => {
        await begin();
        await add(2_500, 0);
        await trigger();
        expect(await remembered()).toHaveLength(1);
      });

      test("find one at work behind a thousand that are over", async () => {
        await begin();
        await add(1_500, 0);
        const last = await trigger({ ignoresOverlap: true });
        await end(await trigger({ ignoresOverlap: true }));
        await pass();
        expect(await fire()).toMatchObject({ left: 0, ...skipFor(last) });
      });

      test("forget those that are over behind many that are at work, where runs may overlap", async () => {
        await begin({ overlap: "allow" });
        await add(1_200, 1_100);
        const sizes: number[] = [];
        for (let firing = 0; firing < 3; firing += 1) {
          expect((await passAndFire()).runs).toHaveLength(1);
          sizes.push((await remembered()).length);
        }
        expect(sizes).toEqual([1_201, 1_102, 1_103]);
      });
    });
  },
  { perTest: true },
);
