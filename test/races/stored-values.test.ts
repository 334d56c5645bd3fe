/** Rows of stored values: who holds which, and what a sweep finds, while others delete, fork or sweep. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { minute, noon, Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "stored values",
  (database) => {
    const stage = stageOn(database);
    const namespace = "default";
    const hold = (runId: string, ...keys: readonly string[]) =>
      stage.onlooker.call("hold_values", { namespace, values: keys.map((key) => ({ runId, key, bytes: 7 })) });
    const sweep = (by: Session = stage.onlooker, more: object = {}) =>
      by.call("sweep_values", { namespace, limit: 10, ...more });
    const forget = (keys: readonly string[], more: object = {}) =>
      stage.onlooker.call("forget_values", { namespace, keys, ...more });
    const rows = async () =>
      (await stage.look("select key, run_id, bytes, look_at from layover.stored_value order by key, run_id")).map(
        ({ key, run_id, look_at }) => ({
          key,
          runId: run_id,
          lookAt: look_at instanceof Date ? look_at.getTime() : null,
        }),
      );
    const started = async () => {
      const run = new Run(stage, randomUUID());
      await stage.onlooker.call("start_run", { runId: run.id, workflow: "flow", version: 1, encodedInput: "0null" });
      return run;
    };
    const remove = (run: Run, by: Session = stage.onlooker) =>
      by.call("delete_run", { runId: run.id, callId: randomUUID() });
    const end = async (run: Run) => {
      await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns: [run.toClaim({ token: "end" })] });
      await run.finish(stage.onlooker, { token: "end", next: "completed", value: "0null" });
    };

    test("are looked at an hour after they were held, and no sooner", async () => {
      const [run, nobody] = [await started(), randomUUID()];
      await hold(run.id, "a");
      await hold(nobody, "b");
      expect(await sweep()).toEqual({ keys: [], isMore: false, nextAt: noon + hour });
      await stage.clock.set(noon + hour);
      expect(await sweep()).toEqual({ keys: ["b"], isMore: false, nextAt: noon + hour + 10 * minute });
      expect(await rows()).toEqual([
        { key: "a", runId: run.id, lookAt: null },
        { key: "b", runId: nobody, lookAt: noon + hour + 10 * minute },
      ]);
    });

    test("of a copy of the database are neither put nor deleted, until somebody adopts it", async () => {
      await hold(randomUUID(), "a");
      await stage.clock.set(noon + hour);
      await stage.onlooker.call("adopt_environment", { namespace, environment: "test", endpoint: "here/db" });
      for (const call of [
        () => sweep(stage.onlooker, { endpoint: "there/db" }),
        () => forget(["a"], { endpoint: "there/db" }),
        () => stage.onlooker.call("hold_values", { namespace, endpoint: "there/db", values: [] }),
      ])
        await expect(call()).rejects.toMatchObject({ code: "LO010" });
      expect((await sweep(stage.onlooker, { endpoint: "here/db" })).keys).toEqual(["a"]);
    });

    test("are not put for somebody whose key was revoked", async () => {
      const [keyId, runId] = [randomUUID(), randomUUID()];
      const put = () =>
        stage.onlooker.call("hold_values", { namespace, keyId, values: [{ runId, key: "a", bytes: 7 }] });
      await stage.onlooker.call("create_key", { keyId, name: "shop", scopes: ["start"] });
      await put();
      await stage.onlooker.call("revoke_key", { keyId });
      await expect(put()).rejects.toMatchObject({ code: "LO005" });
    });

    test("are held once, however often the call comes", async () => {
      const run = await started();
      await hold(run.id, "a", "b");
      await hold(run.id, "b", "a");
      expect((await rows()).map(({ key }) => key)).toEqual(["a", "b"]);
    });

    test("are forgotten if no run is there that holds them, in their own namespace", async () => {
      const [run, nobody] = [await started(), randomUUID()];
      await hold(run.id, "a");
      await hold(nobody, "b", "c");
      await forget(["b"], { namespace: "elsewhere" });
      expect(await rows()).toHaveLength(3);
      await forget(["a", "b"]);
      expect((await rows()).map(({ key }) => key)).toEqual(["a", "c"]);
    });

    test("are found a page at a time, in their own namespace", async () => {
      await hold(randomUUID(), "a", "b", "c");
      await stage.clock.set(noon + hour);
      expect(await sweep(stage.onlooker, { namespace: "elsewhere" })).toEqual({
        keys: [],
        isMore: false,
        nextAt: null,
      });
      const first = await sweep(stage.onlooker, { limit: 2 });
      expect(first).toMatchObject({ isMore: true, nextAt: noon + hour });
      expect(first.keys).toHaveLength(2);
      expect((await sweep(stage.onlooker, { limit: 2 })).keys).toHaveLength(1);
    });

    test("are found in the order in which they are due", async () => {
      for (const [minutes, key] of ["a", "b", "c"].entries()) {
        await stage.clock.set(noon + minutes * minute);
        await hold(randomUUID(), key);
      }
      await stage.clock.set(noon + 2 * hour);
      const found = [];
      for (let sweeps = 0; sweeps < 3; sweeps += 1) found.push(...(await sweep(stage.onlooker, { limit: 1 })).keys);
      expect(found).toEqual(["a", "b", "c"]);
    });

    test("are looked at alone: not what the same run holds later, and not what another run holds of the same name", async () => {
      const [run, other, nobody] = [await started(), await started(), randomUUID()];
      await hold(run.id, "a");
      await hold(nobody, "b");
      await stage.clock.set(noon + minute);
      await hold(run.id, "c");
      await hold(other.id, "a", "b");
      await hold(nobody, "d");
      await stage.clock.set(noon + hour);
      expect((await sweep()).keys).toEqual([]);
      const later = noon + hour + minute;
      const left = [
        { key: "a", runId: run.id, lookAt: null },
        { key: "a", runId: other.id, lookAt: later },
        { key: "b", runId: other.id, lookAt: later },
        { key: "c", runId: run.id, lookAt: later },
        { key: "d", runId: nobody, lookAt: later },
      ];
      const place = ({ key, runId }: { key: unknown; runId: unknown }) => `${key} ${runId}`;
      expect(await rows()).toEqual(left.sort((one, another) => (place(one) < place(another) ? -1 : 1)));
    });

    test("are left out of what is read, by the size that their names tell", async () => {
      const large = `2stored.5000000.${"0".repeat(64)}.a`;
      const isLeftOut = async (encodedInput: string, longestInput = 2000) => {
        const runId = randomUUID();
        await stage.onlooker.call("start_run", { runId, workflow: "flow", version: 1, encodedInput });
        const run = await stage.onlooker.call("get_run", { runId, longestInput });
        return "leftOut" in run ? run.leftOut : undefined;
      };
      expect(await isLeftOut(large)).toEqual(["input"]);
      expect(await isLeftOut(`0"${"x".repeat(2000)}"`)).toEqual(["input"]);
      expect(await isLeftOut(`0"${"x".repeat(1500)}"`)).toEqual([]);
      expect(await isLeftOut('0"x"')).toEqual([]);
      expect(await isLeftOut('0"x"', 3)).toEqual(["input"]);
    });

    test("of a run that is deleted are due an hour later", async () => {
      const [run, other] = [await started(), await started()];
      for (const { id } of [run, other]) await hold(id, `of ${id}`);
      await stage.clock.set(noon + hour);
      await sweep();
      await end(run);
      await remove(run);
      expect(await rows()).toEqual(
        [
          { key: `of ${run.id}`, runId: run.id, lookAt: noon + 2 * hour },
          { key: `of ${other.id}`, runId: other.id, lookAt: null },
        ].sort((one, another) => (one.key < another.key ? -1 : 1)),
      );
    });

    describe("that two runs hold", () => {
      const forked = async () => {
        const run = await started();
        await hold(run.id, "a");
        await end(run);
        const { runId } = await stage.onlooker.call("fork_run", { runId: run.id, armed: [noon + minute] });
        return { run, fork: new Run(stage, runId ?? "") };
      };

      test("stay for the second one, whichever goes first, and go with the last", async () => {
        const { run, fork } = await forked();
        expect((await rows()).map(({ runId }) => runId).sort()).toEqual([run.id, fork.id].sort());
        await remove(run);
        await stage.clock.set(noon + hour);
        expect((await sweep()).keys).toEqual([]);
        expect(await rows()).toEqual([{ key: "a", runId: fork.id, lookAt: null }]);
        await end(fork);
        await remove(fork);
        await stage.clock.set(noon + 2 * hour);
        expect((await sweep()).keys).toEqual(["a"]);
      });

      test("that are both gone are answered once", async () => {
        const { run, fork } = await forked();
        await end(fork);
        await remove(run);
        await remove(fork);
        await stage.clock.set(noon + hour);
        expect((await sweep()).keys).toEqual(["a"]);
        expect(await rows()).toHaveLength(1);
      });

      test("are those of the run that was forked, and of no other one", async () => {
        const stranger = await started();
        await hold(stranger.id, "b");
        const { run, fork } = await forked();
        const held = (await rows()).map(({ key, runId }) => `${key} ${runId}`);
        expect(held).toEqual([...[run, fork].map(({ id }) => `a ${id}`).sort(), `b ${stranger.id}`]);
      });

      test("stay if the fork waits for the deletion, or the deletion for the fork", async () => {
        const run = await started();
        await hold(run.id, "a");
        await end(run);
        const [made] = await stage.collide({
          first: (session) => session.call("fork_run", { runId: run.id, armed: [noon + minute] }),
          second: (session) => remove(run, session),
        });
        await stage.clock.set(noon + hour);
        expect((await sweep()).keys).toEqual([]);
        expect(await rows()).toEqual([{ key: "a", runId: made.runId, lookAt: null }]);
      });
    });

    test("of a fork that is over and was pruned are held by that fork once more, if its call comes again", async () => {
      const run = await started();
      await hold(run.id, "a");
      await run.claim(stage.onlooker, { token: "end" });
      await run.finish(stage.onlooker, { token: "end", next: "failed", value: "0null" });
      const fork = new Run(stage, randomUUID());
      const make = () => stage.onlooker.call("fork_run", { runId: run.id, newRunId: fork.id, armed: [noon + minute] });
      await make();
      await end(fork);
      await stage.clock.set(noon + minute);
      const pruned = await stage.onlooker.call("prune_runs", { keepMs: minute, keepFailedMs: hour, limit: 10 });
      expect(pruned).toMatchObject({ pruned: 1 });
      expect(await make()).toMatchObject({ outcome: "forked", runId: fork.id, turn: 1 });
      expect((await rows()).map(({ runId }) => runId).sort()).toEqual([run.id, fork.id].sort());
    });

    test("are swept by one at a time: the second sweep leaves all to the first", async () => {
      await hold(randomUUID(), "a");
      await stage.clock.set(noon + hour);
      const first = await stage.session("first");
      await first.begin();
      expect((await sweep(first)).keys).toEqual(["a"]);
      expect(await sweep()).toEqual({ keys: [], isMore: false, nextAt: null });
      await first.end("commit");
      expect((await sweep()).keys).toEqual([]);
    });

    test("that somebody deletes at this moment are left to the next sweep, which waits for nobody", async () => {
      const run = await started();
      await hold(run.id, "a");
      await hold(randomUUID(), "b");
      await end(run);
      await stage.clock.set(noon + hour);
      const person = await stage.session("person");
      await person.begin();
      await remove(run, person);
      const sweeper = await stage.session("sweeper");
      await sweeper.query("set lock_timeout = '5s'");
      expect((await sweep(sweeper)).keys).toEqual(["b"]);
      await person.end("commit");
      await stage.clock.set(noon + 2 * hour);
      expect((await sweep()).keys.toSorted()).toEqual(["a", "b"]);
    });

    describe.each(["hold_values", "sweep_values", "forget_values"] as const)("are left alone by a %s", (name) => {
      const nobody = randomUUID();
      const call = { namespace, limit: 10, keys: ["a"], values: [{ runId: nobody, key: "b", bytes: 1 }] };

      test("that comes too late", async () => {
        await hold(nobody, "a");
        await stage.clock.set(noon + hour);
        const before = await rows();
        const late = stage.onlooker.call(name, { ...call, notAfter: noon });
        await expect(late).rejects.toMatchObject({ code: "LO002" });
        expect(await rows()).toEqual(before);
      });

      test.each(["repeatable read", "serializable"])(
        "at %s, where it could not see what it waited for",
        async (isolation) => {
          const session = await stage.session("blind");
          await session.begin(isolation);
          await expect(session.call(name, call)).rejects.toMatchObject({ code: "LO001" });
          await session.rollback();
        },
      );
    });
  },
  { perTest: true },
);
