/** The list of the processes that arm at each other: who stands in it, who is told of whom, and who is struck. */
import { describe, expect, test } from "vitest";
import { aRun, aRunAtWork, aStart, minute, noon, soon, terms, tokenOf } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

const place = { environment: "production", endpoint: "db/main" };
const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

describeEachPostgres(
  "the list of processes",
  (database) => {
    const stage = stageOn(database);
    /** Answers the others that it is told of, by their numbers. */
    const note = async (n: number, more: object = {}) => {
      const self = { id: idOf(n), door: `http://10.0.0.${n}:3000`, versions: { order: [n] } };
      const { others } = await stage.onlooker.call("note_process", {
        ...{ ...place, ...self, gone: [], silentMs: minute, ...more },
      });
      return others.map(({ id }) => Number(id.at(-1)));
    };

    test("tells each process of the others, with their doors and what they carry", async () => {
      expect([await note(2), await note(1), await note(3), await note(2)]).toEqual([[], [2], [1, 2], [1, 3]]);
      const self = { id: idOf(4), door: "http://d", versions: {}, gone: [], silentMs: minute };
      expect((await stage.onlooker.call("note_process", { ...place, ...self })).others[0]).toEqual({
        id: idOf(1),
        door: "http://10.0.0.1:3000",
        versions: { order: [1] },
      });
    });

    test("has a process as it was listed last", async () => {
      await note(1);
      await note(1, { door: "http://new", versions: { mail: [7] } });
      await stage.clock.advance(2 * minute);
      await note(1);
      expect(await note(2, { gone: [idOf(1)] })).toEqual([1]); // it was listed just now
      await note(1, { door: "http://new", versions: { mail: [7] } });
      const rows = await stage.look(
        "select door, versions, layover.to_ms(seen_at)::float8 as at from layover.process order by id",
      );
      expect(rows[0]).toEqual({ door: "http://new", versions: { mail: [7] }, at: noon + 2 * minute });
    });

    test("loses who leaves, and nobody else", async () => {
      await note(1);
      await note(2);
      expect(await note(1, { isLeaving: true })).toEqual([2]);
      expect(await note(3)).toEqual([2]);
      expect(await note(1, { isLeaving: true })).toEqual([2, 3]);
    });

    test("loses who is gone, once it has not been seen for so long", async () => {
      await note(1);
      await note(2);
      await stage.clock.advance(minute);
      expect(await note(3, { gone: [idOf(1)] })).toEqual([1, 2]);
      await stage.clock.advance(1);
      expect(await note(3, { gone: [idOf(1)] })).toEqual([2]);
    });

    test("is one for each namespace and each environment", async () => {
      await note(1);
      await stage.onlooker.call("note_process", {
        ...{ ...place, namespace: "shop", id: idOf(2), door: "http://shop", versions: {}, gone: [], silentMs: 0 },
      });
      await note(3, { environment: "staging" });
      expect(await note(4)).toEqual([1]);
      await stage.clock.advance(2 * minute);
      await note(4, { gone: [idOf(2)] });
      await stage.onlooker.call("note_process", {
        ...{ ...place, namespace: "shop", id: idOf(4), door: "http://shop", versions: {}, gone: [], silentMs: 0 },
        isLeaving: true,
      });
      expect(await stage.look("select from layover.process where namespace = 'shop'")).toHaveLength(1);
      expect(await stage.look("select from layover.process where namespace = 'default'")).toHaveLength(3);
    });

    test("is not read or written by the processes of a copy, and empty once that is adopted", async () => {
      await stage.onlooker.call("adopt_environment", place);
      await note(1);
      expect(await note(2, { endpoint: "db/copy" })).toEqual([]);
      expect(await note(3)).toEqual([1]);
      await stage.onlooker.call("adopt_environment", { ...place, endpoint: "db/copy" });
      expect(await note(2, { endpoint: "db/copy" })).toEqual([]);
    });

    test("lets two processes strike each other without waiting", async () => {
      await note(1);
      await note(2);
      await stage.clock.advance(2 * minute);
      const gone = (n: number) => ({
        ...{ ...place, id: idOf(n), door: "http://door", versions: {}, gone: [idOf(3 - n)], silentMs: minute },
      });
      const [one, other] = await stage.collide({
        first: (session) => session.call("note_process", gone(1)),
        second: (session) => session.call("note_process", gone(2)), // it was struck, and lists itself again
        ends: "commit",
      });
      expect([one, other].map(({ others }) => others.map(({ id }) => id))).toEqual([[], [idOf(1)]]);
      expect(await note(1)).toEqual([2]);
    });

    test("waits for no process that somebody has locked, and strikes it another time", async () => {
      await note(1);
      await note(2);
      await stage.clock.advance(2 * minute);
      const holder = await stage.hold("select from layover.process where id = $1 for update", [idOf(2)]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      expect(await note(1, { gone: [idOf(2)] })).toEqual([2]);
      await holder.commit();
      expect(await note(1, { gone: [idOf(2)] })).toEqual([]);
    });

    test("has a process of another namespace, whose id is one of its own, apart", async () => {
      const other = { namespace: "other" };
      const listed = () =>
        stage.look("select namespace from layover.process where id = $1 order by namespace", [idOf(2)]);
      await note(2, other);
      await stage.clock.advance(2 * minute);
      await note(2);
      await note(1, { gone: [idOf(2)] });
      expect(await listed()).toEqual([{ namespace: "default" }, { namespace: "other" }]);
      await stage.onlooker.query("update layover.process set seen_at = layover.now() where namespace = 'other'");
      await stage.clock.advance(2 * minute);
      await note(2, other);
      await note(1, { gone: [idOf(2)] });
      expect(await listed()).toEqual([{ namespace: "other" }]);
    });

    test("has a process with the environment that it was listed with last", async () => {
      await note(1);
      await stage.onlooker.query("update layover.process set environment = 'old'");
      await note(1);
      expect(await stage.look("select environment from layover.process")).toEqual([{ environment: place.environment }]);
    });

    describe("is asked by a call that leans on what rings in some processes:", () => {
      const rings = [idOf(1), idOf(2)];
      const here = { environment: terms.environment, endpoint: terms.endpoint };
      /** Each prepares what its call is about. */
      const verbs: readonly [string, () => Promise<(more: object) => Promise<unknown>>][] = [
        ["a start", async () => (more) => stage.onlooker.call("start_run", { ...aStart(), ...more })],
        [
          "a signal",
          async () => {
            const signal = { runId: (await aRun(stage)).id, name: "go", signalId: idOf(9), encodedPayload: "0null" };
            return (more) => stage.onlooker.call("send_signal", { ...signal, ...more });
          },
        ],
        [
          "an answer",
          async () => {
            const callback = { runId: (await aRun(stage)).id, epoch: 0, path: "approval", occurrence: 1 };
            const answer = { ...callback, outcome: "resolved", value: "0null" };
            return (more) => stage.onlooker.call("answer_callback", { ...answer, ...more });
          },
        ],
        [
          "a finish",
          async () => {
            const { id } = await aRunAtWork(stage);
            const turn = { runId: id, token: tokenOf("first"), turn: 1, position: 0, next: "ready", armed: [soon] };
            return (more) => stage.onlooker.call("finish_turns", { turns: [turn], ...more });
          },
        ],
        [
          "a look that moves on",
          async () => {
            const moves = [{ runId: (await aRun(stage)).id, seenDueAt: soon, dueAt: soon + minute }];
            return (more) => stage.onlooker.call("move_due", { moves, ...more });
          },
        ],
      ];

      test.each(verbs)(
        "%s is refused where one of them is not listed, and passes where all are",
        async (_, prepare) => {
          const ask = await prepare();
          await note(1, here);
          await expect(ask({ rings })).rejects.toMatchObject({ code: "LO011" });
          await expect(ask({ rings, notAfter: noon - 1 })).rejects.toMatchObject({ code: "LO002" });
          await note(2, { ...here, namespace: "other" });
          await expect(ask({ rings })).rejects.toMatchObject({ code: "LO011" });
          await note(2, here);
          await ask({ rings });
        },
      );

      test.each(verbs)("%s passes that leans on none", async (_, prepare) => {
        const ask = await prepare();
        await ask({ rings: [] });
      });
    });
  },
  { perTest: true },
);
