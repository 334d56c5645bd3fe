/** A turn that starts runs writes the rows of each, and a row or a record of it for its parent. It changes no other run. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { idOf, startingOn } from "./invoking.ts";
import { rowsOn } from "./rows.ts";
import { aRecord, aRun, aRunAtWork, aStart, minute, noon, second, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that a turn starts",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "positions are dense from 1, and last_position is the last",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "due may be early, never late (by more than two minutes)",
        "the end of a run has reached the one that waits for it",
        "a parked run with a record that its handler has not seen is ready, unless its map waits for more",
      ],
    });
    const { start, made, records, waits, row } = startingOn(stage);
    const { set } = rowsOn(stage);

    test("has all that its start says of it", async () => {
      const parent = await aRunAtWork(stage);
      await aRunAtWork(stage);
      const [one, two] = [idOf(2), idOf(1)];
      const named = {
        path: "b",
        runId: one,
        workflow: "other",
        version: 3,
        signature: "s1",
        traceparent: "t1",
        id: "o1",
      };
      const more = {
        input: '0"in"',
        timeoutMs: minute,
        tags: { team: "blue", place: "here" },
        ordinal: 2,
        occurrence: 4,
      };
      await start(parent, [{ runId: two }, { ...named, ...more, until: noon + second, isBound: true }]);
      const runs = await stage.look(
        `select id, namespace, workflow, version, user_id, input, is_input_parsed, signature, traceparent, timeout_ms::integer,
            layover.to_ms(created_at)::float8 as at, parent_path, parent_occurrence, depth, chain
           from layover.run where parent_run_id = $1 order by id desc`,
        [parent.id],
      );
      const family = { namespace: "default", is_input_parsed: true, at: noon, depth: 1, chain: 1 };
      expect(runs).toEqual([
        {
          id: one,
          workflow: "other",
          version: 3,
          user_id: "o1",
          input: '0"in"',
          signature: "s1",
          traceparent: "t1",
          timeout_ms: minute,
          parent_path: "b",
          parent_occurrence: 4,
          ...family,
        },
        {
          id: two,
          workflow: "flow",
          version: 1,
          user_id: null,
          input: "0{}",
          signature: null,
          traceparent: null,
          timeout_ms: null,
          parent_path: "a",
          parent_occurrence: 1,
          ...family,
        },
      ]);
      const states = await stage.look(
        `select run_id, namespace, status, turn, layover.to_ms(timeout_at)::float8 as timeout, layover.to_ms(last_record_at)::float8 as recorded,
            ready_at = 'epoch' as is_ready, layover.to_ms(due_at)::float8 as due, has_parent, paused_at, is_held
           from layover.run_state where run_id = any ($1) order by run_id desc`,
        [[one, two]],
      );
      const begun = {
        namespace: "default",
        status: "parked",
        turn: 1,
        recorded: noon,
        is_ready: true,
        due: soon,
        has_parent: true,
        paused_at: null,
        is_held: false,
      };
      expect(states).toEqual([
        { run_id: one, timeout: noon + minute, ...begun },
        { run_id: two, timeout: null, ...begun },
      ]);
      expect(await stage.look("select run_id, namespace, name, value from layover.tag order by name")).toEqual([
        { run_id: one, namespace: "default", name: "place", value: "here" },
        { run_id: one, namespace: "default", name: "team", value: "blue" },
      ]);
      const wait = { kind: "child", demanded_after: 0, child_status: null };
      expect(await waits(parent)).toEqual([
        { path: "a", occurrence: 1, ordinal: 1, until: null, child_run_id: two, child_bond: null, ...wait },
        {
          path: "b",
          occurrence: 4,
          ordinal: 2,
          until: noon + second,
          child_run_id: one,
          child_bond: "cancel",
          ...wait,
        },
      ]);
      expect(await row(parent, "children, last_position")).toEqual({ children: 2, last_position: 0 });
    });

    test("is told in the order in which the handler started them, whatever their ids are", async () => {
      const parent = await aRunAtWork(stage);
      const told = await start(parent, [
        { path: "a", runId: idOf(1), ordinal: 3 },
        { path: "b", runId: idOf(3), ordinal: 1 },
        { path: "c", runId: idOf(2), ordinal: 2 },
      ]);
      expect(told).toMatchObject({ others: [idOf(3), idOf(2), idOf(1)].map((runId) => ({ runId, turn: 1 })) });
    });

    test("alone is recorded at once, in the parent's epoch, in order, at a time that never goes back", async () => {
      const parent = await aRunAtWork(stage);
      await set(
        parent,
        "epoch = 2, last_position = 0, last_record_at = layover.now() + interval '1 s', history_bytes = 7",
      );
      const starts = [
        { path: "b", occurrence: 2, runId: idOf(1), ordinal: 2, isDetached: true },
        { path: "a", runId: idOf(2), ordinal: 1, isDetached: true },
      ];
      await start(parent, starts);
      const value = (runId: string) => `0{"runId": "${runId}"}`;
      const record = { epoch: 2, kind: "start", is_failure: false, at: noon + second };
      expect(await records(parent)).toEqual([
        { position: 1, path: "a", occurrence: 1, value: value(idOf(2)), ...record },
        { position: 2, path: "b", occurrence: 2, value: value(idOf(1)), ...record },
      ]);
      expect(await waits(parent)).toEqual([]);
      expect(
        await row(
          parent,
          "children, last_position, history_bytes::integer, layover.to_ms(last_record_at)::float8 as at",
        ),
      ).toEqual({
        ...{ children: 2, last_position: 2, at: noon + second },
        history_bytes: 7 + 2 * value(idOf(1)).length,
      });
      const depths = await stage.look("select depth, chain from layover.run where parent_run_id = $1", [parent.id]);
      expect(depths).toEqual([
        { depth: 0, chain: 1 },
        { depth: 0, chain: 1 },
      ]);
      expect(await stage.look("select has_parent from layover.run_state where run_id = $1", [idOf(1)])).toEqual([
        { has_parent: false },
      ]);
    });

    test("alone is the parent's last record, as of now", async () => {
      const parent = await aRunAtWork(stage);
      await stage.clock.advance(second);
      await start(parent, [{ isDetached: true }]);
      expect((await records(parent)).map(({ at }) => at)).toEqual([noon + second]);
      expect(await row(parent, "layover.to_ms(last_record_at)::float8 as at")).toEqual({ at: noon + second });
    });

    test("has the parent's last record stand at its time, if the parent waits for it", async () => {
      const parent = await aRunAtWork(stage);
      await stage.clock.advance(second);
      await start(parent, [{}]);
      expect(await row(parent, "layover.to_ms(last_record_at)::float8 as at")).toEqual({ at: noon });
    });

    describe("is held where", () => {
      const held = { is_held: true, at: noon, due_at: null };
      test.each([
        ["its workflow is paused", "'default', 'other', layover.now(), null", held],
        ["its workflow was paused until now", "'default', 'other', layover.now(), layover.now()", undefined],
        ["its parent's workflow is paused", "'default', 'flow', layover.now(), null", undefined],
        ["its workflow is paused elsewhere", "'shop', 'other', layover.now(), null", undefined],
      ])("%s", async (_, pause, expected) => {
        const parent = await aRunAtWork(stage);
        const other = await aRun(stage);
        await stage.onlooker.query("update layover.run set workflow = 'other' where id = $1", [other.id]);
        await stage.onlooker.query(
          `insert into layover.workflow_pause (namespace, workflow, paused_at, resumed_at, call_id) select ${pause}, gen_random_uuid()`,
        );
        await start(parent, [{ runId: idOf(1), workflow: "other" }]);
        const rows = await stage.look(
          "select is_held, layover.to_ms(paused_at)::float8 as at, due_at from layover.run_state where run_id = any ($1) and is_held",
          [[idOf(1), other.id]],
        );
        expect(rows).toEqual(expected === undefined ? [] : [expected]);
      });
    });

    test("waits for nobody who holds another run", async () => {
      const parent = await aRunAtWork(stage);
      const other = await aRun(stage);
      await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      expect(await start(parent, [{ runId: idOf(1) }])).toMatchObject({ others: [{ runId: idOf(1) }] });
    });

    test("counts from the records that its turn has brought", async () => {
      const parent = await aRunAtWork(stage);
      const starts = { records: [aRecord("step", "x"), aRecord("step", "y")] };
      await start(
        parent,
        [
          { path: "a", demandedAfter: 1 },
          { path: "b", demandedAfter: 2, ordinal: 2, isDetached: true },
        ],
        starts,
      );
      expect((await waits(parent)).map(({ demanded_after }) => demanded_after)).toEqual([2]);
      expect((await records(parent)).map(({ path, position }) => [path, position])).toEqual([
        ["x", 1],
        ["y", 2],
        ["b", 3],
      ]);
    });

    test("is another one each time, in the namespace of its parent", async () => {
      await stage.onlooker.call("start_run", { ...aStart(), namespace: "shop", id: "o1" });
      const parent = await aRunAtWork(stage);
      await start(parent, [{ id: "o1", runId: randomUUID() }]);
      expect(await made(parent)).toHaveLength(1);
    });
  },
  { perTest: true },
);
