/** A deadlock fails a whole set, which its process sends again. Any other error of a set is looked for item by item. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aChild } from "./invoking.ts";
import { aRecord, aRunAtWork, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const [deadlock, zeroDivide] = ["40P01", "22012"];

describeSomePostgres(
  "the finishes of a set",
  (database) => {
    const stage = stageOn(database);
    /** Refuses one record after the other with these errors, and accepts all that follow. */
    const refuseInTurn = async (...states: readonly string[]) => {
      await stage.onlooker.query("create sequence public.tries"); // no rollback takes its numbers back
      await stage.onlooker.query(`create function public.refuse() returns trigger language plpgsql as $$
        declare v_state text := ('{${states.join(",")}}'::text[])[nextval('public.tries')];
        begin
          if v_state is not null then raise exception 'refused' using errcode = v_state; end if;
          return new;
        end $$`);
      await stage.onlooker.query(
        "create trigger refusing before insert on layover.record for each row execute function public.refuse()",
      );
    };
    const ids = ["00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b"];
    const twoAtWork = async () => {
      const runs: Run[] = [];
      for (const runId of ids) runs.push(await aRunAtWork(stage, { runId }));
      return runs;
    };
    const finishes = async () => {
      const runs = await twoAtWork();
      const turns = runs.map((run) => run.toFinish({ token: "first", next: "ready", records: [aRecord("step", "a")] }));
      return async () => (await stage.onlooker.call("finish_turns", { ...terms, turns })).turns;
    };
    const finished = { outcome: "finished" };

    test("fail together in a deadlock, and succeed when they come again", async () => {
      const finish = await finishes();
      await refuseInTurn(deadlock);
      await expect(finish()).rejects.toMatchObject({ code: deadlock });
      expect(await finish()).toMatchObject([finished, finished]);
    });

    test("succeed item by item after another error", async () => {
      const finish = await finishes();
      await refuseInTurn(zeroDivide);
      expect(await finish()).toMatchObject([finished, finished]);
    });

    test("fail together in a deadlock that comes when they are looked at item by item", async () => {
      const finish = await finishes();
      await refuseInTurn(zeroDivide, deadlock);
      await expect(finish()).rejects.toMatchObject({ code: deadlock });
      expect(await finish()).toMatchObject([finished, finished]);
    });

    test("are told apart where one of them has an error of its own", async () => {
      const finish = await finishes();
      await refuseInTurn(zeroDivide, zeroDivide);
      const answers = await finish();
      expect(answers).toContainEqual(expect.objectContaining({ outcome: "raised", sqlState: zeroDivide }));
      expect(answers).toContainEqual(expect.objectContaining(finished));
    });

    test("lock the ids of all runs that they start in one order, whatever the order of the finishes", async () => {
      const slots = await stage.look(
        `select id, pg_catalog.hashtext(concat_ws(' ', 'default', 'flow', id)) & 31 as slot
           from unnest(array(select 'order ' || n from generate_series(1, 40) as n)) as id order by slot`,
      );
      const [low, high] = [slots.at(0), slots.at(-1)];
      const runs = await twoAtWork();
      const turns = [high, low].map((id, index) =>
        runs[index]?.toFinish({
          token: "first",
          children: [aChild("it", { id: String(id?.["id"]) })],
        }),
      );
      const isFree = async (slot: unknown) =>
        (await stage.look("select pg_try_advisory_xact_lock(7812090, $1) as is_free", [slot]))[0]?.["is_free"];
      let wasFree: unknown;
      await stage.collide({
        first: (session) => session.query("select pg_advisory_xact_lock(7812090, $1)", [low?.["slot"]]),
        second: (session) => session.call("finish_turns", { ...terms, turns }),
        meanwhile: async () => {
          wasFree = await isFree(high?.["slot"]);
        },
      });
      expect(wasFree).toBe(true);
    });
  },
  { perTest: true },
);
