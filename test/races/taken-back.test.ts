/** A retry that is taken back leaves its run as it was before, and changes no other run. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Columns, rowsOn } from "./rows.ts";
import { aRecord, aRunAtWork, noon, type Run, second, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a retry that no code fits",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "a signal is taken once, by a record of its kind with its payload",
        "a map counts the branches that it waits for",
        "nothing is left of a run that is gone",
        "no record is older than the one ahead of it",
        "positions are dense from 1, and last_position is the last",
        "a run that is over has neither leases, nor pending rows, nor a due instant",
        "a run that has closed, or ends, has nothing to wait for",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
      ],
    });
    const { write, wait, answer, set } = rowsOn(stage);
    const operation = (run: Run, verb: string, verdict: string, before = "1 s") =>
      write("operation", run, {
        ...{ call_id: "gen_random_uuid()", verb: `'${verb}'`, asked_at: `layover.now() - interval '${before}'` },
        verdict: `'{"outcome": "${verdict}"}'`,
      });
    const kept = 2;

    /** A run whose handler had taken two signals and an answer when a step failed it. It has told how much it may take up again. */
    async function aFailedRun(): Promise<Run> {
      const run = await aRunAtWork(stage);
      for (const name of ["go", "stop", "go"]) await run.signal(stage.onlooker, name);
      await write("attempt", run, anAttempt("0", "a"));
      await write("patch", run, { epoch: "0", path: "'before'", position: "0" });
      const records = [
        aRecord("step", "a", { value: '0"A"' }),
        aRecord("step", "b", { isFailure: true }),
        aRecord("step", "c"),
        aRecord("callback", "d"),
        aRecord("callback", "e"),
      ];
      const failure = { at: 2, timeouts: [4, 5], lost: [], repeats: [] };
      const finish = { token: "first", records, next: "failed" as const, value: '0"broken"', failure };
      // The wire takes a failure as it is drawn here.
      await run.finish(stage.onlooker, finish as Parameters<Run["finish"]>[1]);
      await answer(run, { path: "'d'", position: "4", outcome: "'expired'", value: "null" });
      await answer(run, { path: "'e'", position: "5" });
      await stage.onlooker.query(
        "update layover.signal set position = case name when 'go' then 3 else 1 end where run_id = $1 and number <> (select max(number) from layover.signal where run_id = $1)",
        [run.id],
      );
      await set(
        run,
        "handed_position = 4, history_bytes = 77, closed = '{x}', undos = 3, failed_undos = 2, cancelled_position = 4",
      );
      await set(run, "cancel_requested_at = layover.now(), cancel_reason = 'its handler has thrown'");
      await set(run, "last_record_at = layover.now() + interval '1 s', ended_at = layover.now() + interval '2 s'");
      await operation(run, "cancel", "retried", "1 ms");
      await operation(run, "retry", "not_applicable", "1 ms");
      await operation(run, "retry", "retried", "1 h");
      return run;
    }

    const anAttempt = (epoch: string, path: string, endedAt = "layover.now()"): Columns => ({
      ...{ epoch, path: `'${path}'`, occurrence: "1", number: "1", error: "'0{}'" },
      ...{ began_at: "layover.now() - interval '1 s'", ended_at: endedAt },
    });

    /** The first turn after the retry is under way. */
    async function retry(run: Run, more: object = {}): Promise<void> {
      const call = { runId: run.id, callId: randomUUID(), armed: [soon], ...more };
      const told = await stage.onlooker.call("retry_run", call);
      expect(told).toMatchObject({ outcome: "retried", kept });
      const turns = [run.toClaim({ turn: Number(Object(told).turn), token: "again" })];
      await stage.onlooker.call("claim_turns", { ...terms, knowsEpochs: true, turns });
    }

    /** The code of this turn does not fit. */
    const refuse = (run: Run, more: object = {}) =>
      run.finish(stage.onlooker, { token: "again", position: kept, next: "blocked", value: "no such step", ...more });

    const tables = [
      "record",
      "attempt",
      "patch",
      "pending",
      "map",
      "setback",
      "signal",
      "callback",
      "epoch",
      "run_state",
      "operation",
    ];
    /** All rows of a run, apart from what a retry may leave. */
    async function all(run: Run) {
      const rows: Record<string, unknown> = {};
      for (const table of tables)
        rows[table] = (
          await stage.look(
            `select to_jsonb(t) as row from layover.${table} t where t.run_id = $1 order by to_jsonb(t)::text`,
            [run.id],
          )
        ).map(({ row }) => row);
      return rows;
    }

    test.each([
      ["is due", "due_at = layover.now() + interval '1 h'"],
      ["is paused", "paused_at = layover.now(), due_at = null"],
    ])("leaves the run that %s as it was before, and every other run as it is", async (_, change) => {
      const [run, other] = [await aFailedRun(), await aFailedRun()];
      const before = await all(run);
      for (const one of [run, other]) {
        await retry(one);
        await write("attempt", one, anAttempt("1", "new"));
        await write("patch", one, { epoch: "1", path: "'after'", position: "1" });
        await write("map", one, { path: "'all'", counted: "0", fails_fast: "false" });
        await write("setback", one, {
          ...{ path: "''", occurrence: "1", turn: "1", reason: "'why'", tries: "1" },
          ...{ since: "layover.now()", until: "layover.now()" },
        });
      }
      await wait(other, "sleep", { until: "layover.now() + interval '1 h'" });
      const ofOther = await all(other);
      await stage.clock.advance(second);
      await set(run, "timeout_at = layover.now() + interval '1 h', ready_at = 'epoch', has_pending = true");
      await set(run, `ending_position = 1, undos = 1, refused_by = '{"green": {}}', ${change}`);
      await operation(run, "cancel", "retried", "1 s");
      await operation(run, "cancel", "retried", "0 s");
      await operation(run, "retry", "not_applicable", "0 s");
      const asked = (await all(run))["operation"];
      expect(await refuse(run)).toMatchObject({ outcome: "finished", status: "failed" });
      const { operation: operations, run_state: states, ...rows } = await all(run);
      const { operation: _operations, run_state: statesBefore, ...rowsBefore } = before;
      expect(rows).toEqual(rowsBefore);
      const [state, stateBefore] = [Object(states)[0], Object(statesBefore)[0]];
      const changing = { turn: 0, finished_token: 0, finished_answer: 0 };
      expect({ ...state, ...changing }).toEqual({ ...stateBefore, ...changing, has_mail: true });
      const verdict = { outcome: "would_repeat", runId: run.id, places: [], why: "no such step" };
      const left = Object(asked).filter(
        (one: object) => !Object(operations).some((other: object) => isDeepStrictEqual(one, other)),
      );
      expect(
        left.map(({ verb, verdict }: { verb: string; verdict: string }) => [verb, JSON.parse(verdict).outcome]),
      ).toEqual([["retry", "retried"]]);
      const fresh = Object(operations).filter(({ verdict }: { verdict: string }) => verdict.includes("would_repeat"));
      expect(fresh.map((one: { verdict: string }) => JSON.parse(one.verdict))).toEqual([verdict]);
      expect(await all(other)).toEqual(ofOther);
    });

    test("takes its own signal with it, and no other", async () => {
      const [run, other] = [await aFailedRun(), await aFailedRun()];
      const [signalId, signalOfOther] = [randomUUID(), randomUUID()];
      const signal = { name: "go", encodedPayload: "0null" };
      await retry(other, { signal: { ...signal, signalId: signalOfOther } });
      const epochsOfOther = (await all(other))["epoch"];
      await retry(run, { signal: { ...signal, signalId } });
      expect((await all(other))["epoch"]).toEqual(epochsOfOther);
      await stage.onlooker.query("update layover.signal set id = $1 where id = $2", [signalId, signalOfOther]);
      await run.signal(stage.onlooker, "go");
      const signalsOf = async (one: Run) => Object((await all(one))["signal"]).map((row: { id: string }) => row.id);
      const [before, ofOther] = [await signalsOf(run), await signalsOf(other)];
      expect(before).toContain(signalId);
      expect(await refuse(run)).toMatchObject({ status: "failed" });
      expect(await signalsOf(run)).toEqual(before.filter((id: string) => id !== signalId));
      expect(await signalsOf(other)).toEqual(ofOther);
    });

    describe("is taken back where", () => {
      test.each<readonly [what: string, arrange: (run: Run, other: Run) => Promise<unknown>]>([
        ["it has gone no further", async () => {}],
        [
          "another run waits for something",
          (_, other) => wait(other, "sleep", { until: "layover.now() + interval '1 h'" }),
        ],
        [
          "another run has failed in an attempt since",
          (_, other) => write("attempt", other, anAttempt("1", "x", "layover.now() + interval '1 s'")),
        ],
        [
          "an epoch before has failed in one since",
          (run) => write("attempt", run, anAttempt("0", "x", "layover.now() + interval '1 s'")),
        ],
        ["it keeps an attempt that failed before", (run) => write("attempt", run, anAttempt("1", "x"))],
        ["one deployment has refused it", (run) => set(run, `refused_by = '{"green": {}}'`)],
        [
          "two deployments have refused it, in a turn each",
          (run) => set(run, `refused_by = '{"green": {}, "blue": {}}', turn = turn + 1`),
        ],
      ])("%s", async (_, arrange) => {
        const [run, other] = [await aFailedRun(), await aFailedRun()];
        for (const one of [run, other]) await retry(one);
        await arrange(run, other);
        expect(await refuse(run)).toMatchObject({ status: "failed" });
        expect(await run.state()).toMatchObject({ status: "failed", blocked: null });
      });
    });

    describe("blocks the run where", () => {
      test.each<readonly [what: string, change: (run: Run) => Promise<unknown>]>([
        [
          "it was restarted instead",
          (run) => stage.onlooker.query("update layover.epoch set why = 'restarted' where run_id = $1", [run.id]),
        ],
        [
          "its cancel was asked for, and it cleans up",
          (run) => set(run, "cancel_requested_at = layover.now(), cancelled_position = 1"),
        ],
        ["a turn was lost", (run) => set(run, "is_interrupted = true")],
        ["a body may have begun", (run) => set(run, "begun = 'a 1'")],
        ["another turn has come to its end", (run) => set(run, "turn = turn + 1")],
        ["two deployments have refused it, in one turn", (run) => set(run, `refused_by = '{"green": {}, "blue": {}}'`)],
        ["it waits for something", (run) => wait(run, "sleep", { until: "layover.now() + interval '1 h'" })],
        [
          "an attempt has failed since",
          (run) => write("attempt", run, anAttempt("1", "x", "layover.now() + interval '1 ms'")),
        ],
        ["it was the retry of an epoch before", (run) => set(run, "epoch = 2")],
      ])("%s", async (_, change) => {
        const run = await aFailedRun();
        await retry(run);
        await change(run);
        await refuse(run);
        expect(await run.state()).toMatchObject({ status: "parked", blocked: "no such step" });
      });

      test("it has recorded something", async () => {
        const run = await aFailedRun();
        await retry(run);
        await refuse(run, { records: [aRecord("step", "z", { at: noon + second })] });
        expect(await run.state()).toMatchObject({ status: "parked", blocked: "no such step" });
      });
    });
  },
  { perTest: true },
);
