/** Each note of a deployment changes the row of that deployment, and no other row. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { aRun, minute, noon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "the row of a deployment",
  (database) => {
    const stage = stageOn(database);
    const note = noteOn(stage);
    const rows = async (columns: string, where = "true") =>
      await stage.look(`select ${columns} from layover.deployment where ${where} order by namespace, name, id`);
    const ms = (column: string) => `layover.to_ms(${column})::float8 as ${column}`;

    test("of a build that declares no schedules says so, and says when one that does had begun to", async () => {
      await aRun(stage);
      await note("server", "1");
      await note("worker", "1", { declaresLater: true });
      const declared = () => rows(`has_declared, ${ms("declared_at")}`);
      expect(await declared()).toEqual([
        { has_declared: false, declared_at: null },
        { has_declared: false, declared_at: noon },
      ]);
      await stage.clock.advance(minute);
      await note("worker", "1", { note: "declared", schedules: {}, names: [] });
      expect((await declared())[1]).toEqual({ has_declared: true, declared_at: noon });
    });

    test("says when its tick has looked, also where that is all it tells", async () => {
      await aRun(stage);
      await note("server", "1");
      await stage.clock.advance(minute);
      await note("server", "1", { note: undefined });
      expect(await rows(`${ms("looked_at")}, ${ms("seen_at")}, tried_through`)).toEqual([
        { looked_at: noon + minute, seen_at: noon + minute, tried_through: null },
      ]);
    });

    test("goes where ten newer builds are, of its own namespace and name", async () => {
      await aRun(stage);
      await note("server", "0", { namespace: "other" });
      await note("worker", "0");
      for (let build = 0; build < 11; build += 1) {
        await note("server", String(build));
        await stage.clock.advance(minute);
      }
      expect(await rows("namespace, name", "id = '0'")).toEqual([
        { namespace: "default", name: "worker" },
        { namespace: "other", name: "server" },
      ]);
    });

    test("of a process alone goes with those of all other builds of its namespace", async () => {
      await aRun(stage);
      await note("server", "1", { namespace: "other" });
      for (const [name, build] of [
        ["server", "1"],
        ["server", "2"],
        ["worker", "1"],
      ] as const)
        await note(name, build);
      await note("server", "1", { isExclusive: true });
      expect(await rows("namespace, name, id")).toEqual([
        { namespace: "default", name: "server", id: "1" },
        { namespace: "other", name: "server", id: "1" },
      ]);
    });

    test.each(["seen", "looked", "left", "declared", "declaring"])(
      "is the only one that is noted: %s",
      async (what) => {
        await aRun(stage);
        const others = [
          ["server", "2", {}],
          ["worker", "1", {}],
          ["server", "1", { namespace: "other" }],
        ] as const;
        for (const [name, build, more] of others) await note(name, build, { declaresLater: true, ...more });
        await stage.clock.advance(minute);
        await note("server", "1", { declaresLater: true });
        const before = await rows("*", "(namespace, name, id) <> ('default', 'server', '1')");
        await stage.clock.advance(minute);
        await note("server", "1", { note: what, schedules: {}, names: [], wakeAddress: "new" });
        expect(await rows("*", "(namespace, name, id) <> ('default', 'server', '1')")).toEqual(before);
        expect(await rows("seen_at > deployed_at as is_seen", "seen_at <> deployed_at")).toHaveLength(1);
      },
    );
  },
  { perTest: true },
);
