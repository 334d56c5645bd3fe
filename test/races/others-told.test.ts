/** The answer to a finish names each run that the finish asks to end. So those runs are dispatched at once, and not a minute later. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { childOf, idOf } from "./invoking.ts";
import { aRecord, aRunAtWork } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a finish that asks runs to end",
  (database) => {
    const stage = stageOn(database);
    const { value: _, ...late } = aRecord("child", "lost");
    const released = [{ prefix: "lost", position: 0 }];
    const continues = { next: "ready", continues: "0{}" } as const;

    /** It waits for a run at the place `lost` and for one at `open`. Its second turn is under way. */
    async function aParent() {
      const parent = await aRunAtWork(stage);
      const bound = { isBound: true } as const;
      const children = [childOf(idOf(1), "lost", bound), childOf(idOf(2), "open", { ...bound, ordinal: 2 })];
      await parent.finish(stage.onlooker, { token: "first", children });
      await stage.onlooker.query("update layover.run_state set ready_at = 'epoch' where run_id = $1", [parent.id]);
      await parent.claim(stage.onlooker, { turn: 2, token: "second" });
      return (more: object) => parent.finish(stage.onlooker, { token: "second", ...more });
    }
    const asked = async () =>
      (
        await stage.look("select run_id, turn from layover.run_state where cancel_requested_at is not null order by 1")
      ).map(({ run_id, turn }) => ({ runId: run_id, turn }));

    test.each([
      ["continues as new after a race", 2, { ...continues, released }],
      ["continues as new after it has waited too long", 2, { ...continues, records: [late] }],
      ["is set back after a race", 1, { setback: "why", released }],
      ["is blocked after a race", 1, { next: "blocked", value: "why", released }],
      ["is refused by one deployment after a race", 1, { next: "blocked", value: "why", deployment: "blue", released }],
      ["parks after a race", 1, { next: "parked", released }],
      ["completes", 2, { next: "completed", value: "0{}" }],
    ])("tells of all of them where its run %s", async (_, count, finish) => {
      const told = await (await aParent())(finish);
      expect(await asked()).toHaveLength(count);
      expect(told).toMatchObject({ others: await asked() });
    });

    test("that continues as new tells of them also where it comes again", async () => {
      const finish = await aParent();
      const told = await finish(continues);
      expect(told).toMatchObject({ others: await asked() });
      const other = await aRunAtWork(stage);
      await other.finish(stage.onlooker, { token: "first", children: [childOf(idOf(3), "it", { isBound: true })] });
      expect(await finish(continues)).toEqual(told);
    });
  },
  { perTest: true },
);
