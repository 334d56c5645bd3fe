/** Schedules in great number that code declares. Nothing here carries out a run. */
import { schedule } from "layover";
import { beforeEach, describe, expect, test } from "vitest";
import type { Engine } from "../../src/engine/engine.ts";
import { testDatabase } from "../postgres/database.ts";
import { isWhole } from "../size.ts";
import { anEngine, begin, calls, idle, page, pass, stage } from "./ticking.ts";

const database = testDatabase({ perTest: true });

beforeEach(async () => await begin(database));

describe("schedules that code declares", () => {
  const many = (count: number, every: "1 day" | "2 days" = "1 day") =>
    Array.from({ length: count }, (_, index) => schedule({ name: `d${index}`, every, start: idle }));
  const count = isWhole ? 10_000 : 1_200;
  const notes = () => stage.sent.filter((name) => name === "note_deployment").length;
  const defined = async (where = "true") => {
    const { rows } = await database.pool.query(
      `select count(*)::integer as count from layover.schedule v where v.owner = 'server' and ${where}`,
    );
    return rows[0]?.count;
  };
  const daily = "v.definition->>'everyMs' = '86400000'";
  const tickOf = async (build: Engine) => {
    stage.sent = [];
    await build.tick();
  };

  test("are registered by calls of 500 each, and those that are gone are deleted with the last one", {
    timeout: 600_000,
  }, async () => {
    await tickOf(anEngine(many(count), "a"));
    expect([await defined(), notes()]).toEqual([count, 1 + Math.ceil(count / page)]);
    await pass(1);
    await tickOf(anEngine(many(count - 100), "b"));
    expect(await defined()).toBe(count - 100);
    await pass(1);
    await tickOf(anEngine(many(300), "c"));
    expect([await defined(), notes()]).toEqual([300, 1]);
    expect(stage.events).toEqual([]);
  });

  test("are registered from the first on by the next tick if this one dies amid it: until then none is deleted", async () => {
    await tickOf(anEngine(many(1_200), "a"));
    await pass(1);
    const build = anEngine(many(1_100, "2 days"), "b");
    stage.before = async (name, number) => {
      if (name === "note_deployment" && number === 3) throw new Error("the process died");
    };
    await expect(tickOf(build)).rejects.toThrow();
    expect([await defined(), await defined(daily)]).toEqual([1_200, 700]);
    stage.before = async () => {};
    await pass(1);
    await tickOf(build);
    expect([await defined(), await defined(daily)]).toEqual([1_100, 0]);
    await pass(1);
    await tickOf(build);
    expect(notes()).toBe(0);
  });

  test.each(["that is still there", "that has left"])(
    "stay as a newer build says %s, which declares its own amid that",
    async (state) => {
      const older = anEngine(many(1_200), "a");
      stage.before = async (name, number) => {
        if (name !== "note_deployment" || number !== 3) return;
        stage.before = async () => {};
        await pass(1);
        const seen = stage.sent;
        await tickOf(anEngine(many(900, "2 days"), "b"));
        if (state === "that has left")
          await calls.noteDeployment({
            environment: "production",
            deploymentName: "server",
            deployment: "b",
            note: "left",
          });
        stage.sent = seen;
      };
      await tickOf(older);
      expect([await defined(), await defined(daily)]).toEqual([900, 0]);
      await pass(1);
      await tickOf(older);
      expect([await defined(), await defined(daily)]).toEqual(state === "that has left" ? [1_200, 1_200] : [900, 0]);
    },
  );
});
