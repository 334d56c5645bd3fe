/** A claim reads the signals, answers, ends of children and failed steps of its own run, in order, if no turn has taken them yet. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aFanOut, aRun, noon, type Run, terms, tokenOf } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a claim",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "the end of a run has reached the one that waits for it",
        "positions are dense from 1, and last_position is the last",
        "a signal is taken once, by a record of its kind with its payload",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "no record is older than the one ahead of it",
      ],
    });
    type Columns = Readonly<Record<string, string | number | boolean>>;
    const write = (table: string, { id }: Run, columns: Columns) => {
      const values = Object.values(columns);
      return stage.onlooker.query(
        `insert into layover.${table} (run_id, ${Object.keys(columns).join(", ")})
           values ($1, ${values.map((_, index) => `$${index + 2}`).join(", ")})`,
        [id, ...values],
      );
    };
    const at = (ms: number) => new Date(noon + ms).toISOString();
    const place = (path: string, occurrence = 1) => ({ path, occurrence });
    const two = async () => [await aRun(stage), await aRun(stage)] as const;
    const set = (assignments: string) => stage.onlooker.query(`update layover.run_state set ${assignments}`);
    const read = async (run: Run) => {
      await set("has_mail = true, has_pending = true");
      const told = await run.claim(stage.onlooker, { token: "first" });
      if (told.outcome !== "claimed" || !("historyBytes" in told))
        throw new Error(`It was not claimed: ${told.outcome}`);
      return told;
    };

    describe("reads of signals", () => {
      const send = (run: Run, name: string, payload: string) => run.signal(stage.onlooker, name, { payload });

      test("its own, in the order in which they came, and none that is taken", async () => {
        const [run, other] = await two();
        await send(run, "b", '0"taken"');
        await send(run, "b", '0"1"');
        await send(other, "b", '0"other"');
        await send(run, "a", '0"2"');
        await send(run, "b", '0"3"');
        await stage.onlooker.query("update layover.signal set position = 0 where payload = '0\"taken\"'");
        expect((await read(run)).signals?.map(({ name, payload }) => [name, payload])).toEqual([
          ["b", '0"1"'],
          ["a", '0"2"'],
          ["b", '0"3"'],
        ]);
      });

      test("the first twenty of each name", async () => {
        const run = await aRun(stage);
        for (let number = 1; number <= 22; number += 1)
          for (const name of ["a", "b"]) await send(run, name, `0${number}`);
        const payloads = (await read(run)).signals?.filter(({ name }) => name === "b").map(({ payload }) => payload);
        expect(payloads).toEqual(Array.from({ length: 20 }, (_, index) => `0${index + 1}`));
      });
    });

    test("reads of answers its own, of its epoch, that are not taken", async () => {
      const [run, other] = await two();
      const answer = (of: Run, path: string, more: Columns = {}) =>
        write("callback", of, {
          ...place(path),
          epoch: 0,
          outcome: "resolved",
          value: "0null",
          answered_at: at(0),
          ...more,
        });
      await answer(run, "own");
      await answer(other, "of another run");
      await answer(run, "of another epoch", { epoch: 1 });
      await answer(run, "taken", { position: 0 });
      expect((await read(run)).callbacks?.map(({ path }) => path)).toEqual(["own"]);
    });

    test("reads of answers those to URLs of an earlier epoch that it goes on from", async () => {
      const run = await aRun(stage);
      await set("epoch = 3");
      const segments = [1, 3].map((epoch) => ({ run: run.id, epoch, from: epoch === 1 ? 0 : 2, at: 0 }));
      await write("epoch", run, {
        ...{ epoch: 3, why: "retried", is_input_parsed: true, began_at: at(0), kept: 1 },
        segments: JSON.stringify(segments),
      });
      for (const epoch of [1, 2, 3])
        await write("callback", run, {
          ...{ ...place(`of ${epoch}`), epoch, outcome: "resolved", value: "0null", answered_at: at(0) },
        });
      await set("has_mail = true");
      const turns = [run.toClaim({ token: "first" })];
      const told: object = await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
      expect(told).toMatchObject({ turns: [{ callbacks: [{ path: "of 1" }, { path: "of 3" }] }] });
    });

    test("reads of changes of its code those that it has met in its epoch", async () => {
      const [run, other] = await two();
      await write("patch", run, { epoch: 0, path: "own", position: 0 });
      await write("patch", run, { epoch: 1, path: "of another epoch", position: 0 });
      await write("patch", other, { epoch: 0, path: "of another run", position: 0 });
      await set("handed_position = 0");
      expect((await read(run)).patches).toEqual([{ path: "own", position: 0 }]);
    });

    test("has pages of its own history alone, and of its own branch", async () => {
      const [run, other] = [await aFanOut(stage, ["a"]), await aFanOut(stage, ["a"])];
      const page = { runId: run.id, epoch: 0, after: 0, through: 1, token: tokenOf("a"), ...place("a") };
      const ask = async (more: object) => (await stage.onlooker.call("read_page", { ...page, ...more })).outcome;
      await stage.onlooker.query("update layover.pending set token = gen_random_uuid() where run_id = $1", [other.id]);
      expect(await ask({})).toBe("read");
      expect([await ask({ runId: other.id }), await ask({ occurrence: 2 }), await ask({ path: "b" })]).toEqual([
        "superseded",
        "superseded",
        "superseded",
      ]);
      const atWork = await aRun(stage);
      await atWork.claim(stage.onlooker, { token: "work" });
      const whole = { path: undefined, occurrence: undefined, token: tokenOf("work") };
      expect([await ask({ ...whole, runId: atWork.id }), await ask(whole)]).toEqual(["read", "superseded"]);
    });

    describe("reads of the ends of other runs", () => {
      const end = (of: Run, path: string, more: Columns = {}) =>
        write("pending", of, {
          ...{ ...place(path), kind: "child", demanded_after: 0, ordinal: 1, child_run_id: of.id },
          ...{ child_status: "completed", child_value: "0null", child_ended_at: at(0), ...more },
        });

      test("its own, the first one first, and none that it has left or that goes on", async () => {
        const [run, other] = await two();
        await end(run, "late", { child_ended_at: at(2) });
        await end(run, "second", { ordinal: 2 });
        await end(run, "first");
        await end(run, "left", { is_released: true });
        await write("pending", run, {
          ...place("goes on"),
          kind: "child",
          demanded_after: 0,
          ordinal: 1,
          child_run_id: run.id,
        });
        await end(other, "of another run");
        const { children } = await read(run);
        expect(children).toMatchObject({ isMore: false });
        expect(children?.ends.map(({ path }) => path)).toEqual(["first", "second", "late"]);
      });

      test("as many as have one mebibyte together, each with 200 bytes more, and one at least", async () => {
        const run = await aRun(stage);
        const half = 512 * 1024 - 200;
        await end(run, "a", { ordinal: 1, child_value: "x".repeat(half) });
        await end(run, "b", { ordinal: 2, child_value: "x".repeat(half) });
        await end(run, "c", { ordinal: 3, child_value: "" });
        const { children } = await read(run);
        expect(children).toMatchObject({ isMore: true });
        expect(children?.ends.map(({ path }) => path)).toEqual(["a", "b"]);
      });

      test("one that has more than that", async () => {
        const run = await aRun(stage);
        await end(run, "a", { child_value: "x".repeat(2 * 1024 * 1024) });
        await end(run, "b", { ordinal: 2 });
        expect(await read(run)).toMatchObject({ children: { isMore: true, ends: [{ path: "a" }] } });
      });

      test("nothing where none has ended", async () => {
        expect((await read(await aRun(stage))).children ?? null).toBeNull();
      });
    });

    describe("of a run that closes reads of what may have had its effect", () => {
      const closing = async () => {
        const runs = await two();
        await set("is_closing = true");
        return runs;
      };
      const tried = (of: Run, path: string, number: number, more: Columns = {}) =>
        write("attempt", of, {
          ...place(path),
          epoch: 0,
          number,
          began_at: at(0),
          ended_at: at(0),
          error: "0null",
          ...more,
        });
      const recorded = (of: Run, kind: string, path: string, more: Columns = {}) =>
        write("record", of, {
          ...{
            ...place(path),
            epoch: 0,
            position: 1,
            kind,
            attempts: 1,
            is_failure: false,
            value: "0null",
            recorded_at: at(0),
          },
          ...more,
        });
      const attempted = async (run: Run) =>
        [...((await read(run)).attempted ?? [])].sort(
          (a, b) => a.path.localeCompare(b.path) || a.occurrence - b.occurrence,
        );

      test("its own steps that failed and have no record, with how often they were tried, and the last error", async () => {
        const [run, other] = await closing();
        for (const number of [2, 3, 1]) await tried(run, "a", number, { error: `0${number}` });
        await tried(run, "a", 1, { occurrence: 2 });
        await tried(run, "of another epoch", 1, { epoch: 1 });
        await tried(other, "of another run", 1);
        await tried(run, "recorded", 1);
        await recorded(run, "step", "recorded");
        expect(await attempted(run)).toEqual([
          { ...place("a"), attempts: 3, error: "03" },
          { ...place("a", 2), attempts: 1, error: "0null" },
        ]);
      });

      test("the errors of as many steps as fit into 1 MiB, without those of recorded steps", async () => {
        const [run] = await closing();
        const half = `0"${"x".repeat(512 * 1024 - 3)}"`;
        await tried(run, "0 recorded", 1, { error: half });
        await recorded(run, "step", "0 recorded");
        for (const path of ["a", "b", "c"]) await tried(run, path, 1, { error: path === "c" ? "0" : half });
        expect((await attempted(run)).map(({ path, error }) => [path, error?.length])).toEqual([
          ["a", half.length],
          ["b", half.length],
          ["c", undefined],
        ]);
      });

      test.each<readonly [what: string, kind: string, path: string, more: Columns]>([
        ["of another kind", "sleep", "a", {}],
        ["of another place", "step", "b", {}],
        ["of another occurrence", "step", "a", { occurrence: 2 }],
        ["of another epoch", "step", "a", { epoch: 1 }],
      ])("a step that failed, though there is a record %s", async (_, kind, path, more) => {
        const [run] = await closing();
        await tried(run, "a", 1);
        await recorded(run, kind, path, more);
        expect(await attempted(run)).toEqual([{ ...place("a"), attempts: 1, error: "0null" }]);
      });

      test("a step that failed, though another run has a record of it", async () => {
        const [run, other] = await closing();
        await tried(run, "a", 1);
        await recorded(other, "step", "a");
        expect(await attempted(run)).toHaveLength(1);
      });

      test("the runs that it has invoked and whose end it did not take", async () => {
        const [run, other] = await closing();
        const startedBy = (parent: Run, child: Run, path: string, isAwaited: boolean) =>
          stage.onlooker.query(
            `with child as (
               update layover.run set parent_run_id = $2, parent_path = $3, parent_occurrence = 1 where id = $1
             ) update layover.run_state set has_parent = $4 where run_id = $1`,
            [child.id, parent.id, path, isAwaited],
          );
        const next = () => aRun(stage);
        const [invoked, detached, ofOther, taken] = [await next(), await next(), await next(), await next()];
        await startedBy(run, invoked, "invoked", true);
        await startedBy(run, detached, "detached", false);
        await startedBy(other, ofOther, "of another run", true);
        await startedBy(run, taken, "taken", true);
        await recorded(run, "child", "taken");
        await recorded(other, "child", "invoked");
        const others = ["epoch", "kind", "occurrence"].map((what) => `other ${what}`);
        const told = [{ ...place("invoked"), runId: invoked.id }];
        for (const path of others) {
          const child = await next();
          await startedBy(run, child, path, true);
          told.push({ ...place(path), runId: child.id });
        }
        await recorded(run, "child", "other epoch", { epoch: 1 });
        await recorded(run, "sleep", "other kind", { position: 2 });
        await recorded(run, "child", "other occurrence", { position: 3, occurrence: 2 });
        expect(await attempted(run)).toEqual(told);
      });
    });
  },
  { perTest: true },
);
