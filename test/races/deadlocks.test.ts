/** A deadlock fails a whole set, which its process sends again. Any other error of a set is looked for item by item. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRecord, aRunAtWork, terms } from "./runs.ts";
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
    const finishes = async () => {
      const runs = [await aRunAtWork(stage), await aRunAtWork(stage)];
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
      expect(await finish()).toMatchObject([{ outcome: "raised", sqlState: zeroDivide }, finished]);
    });
  },
  { perTest: true },
);
