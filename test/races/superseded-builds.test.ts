/** A build that starts again while a newer build of the same deployment is there: it declares no schedules. */
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { aRun, minute, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "a process of a build that begins",
  (database) => {
    const stage = stageOn(database);
    const note = (deploymentName: string, deployment: string, more: object = {}) =>
      noteOn(stage)(deploymentName, deployment, { declaresLater: true, ...more });
    /** Whether the build `old` of the deployment `server` declares when it begins an hour after its deploy. */
    const declares = async (meanwhile: () => Promise<unknown>) => {
      await aRun(stage);
      await note("server", "old");
      await stage.clock.advance(minute);
      await meanwhile();
      const now = await stage.clock.advance(hour);
      await note("server", "old", { isStart: true });
      const [row] = await stage.look(
        "select layover.to_ms(declared_at)::float8 as at from layover.deployment where name = 'server' and id = 'old'",
      );
      return row?.["at"] === now;
    };

    test.each([
      ["has to be noted, with its schedules, where it is the newest", false, true],
      ["has nothing to note where a newer build is there", true, false],
    ])("that was deployed without its schedules %s", async (_, isSuperseded, isUnnoted) => {
      await aRun(stage);
      await note("server", "old");
      await stage.clock.advance(minute);
      if (isSuperseded) await note("server", "new");
      const look = { ...terms, deploymentName: "server", deployment: "old", declares: true, limit: 10, withinMs: 0 };
      expect(await stage.onlooker.call("list_due", look)).toMatchObject({ isUnnoted });
    });

    test("and sends its schedules has not declared them where a newer build is there", async () => {
      await aRun(stage);
      await note("server", "old");
      await stage.clock.advance(minute);
      await note("server", "new");
      await note("server", "old", { isStart: true, schedules: {}, armed: [] });
      const declared = await stage.look("select has_declared from layover.deployment where id = 'old'");
      expect(declared).toEqual([{ has_declared: false }]);
    });

    test.each<readonly [what: string, meanwhile: () => Promise<unknown>, isDeclared: boolean]>([
      ["declares its schedules", async () => {}, true],
      ["declares nothing where a newer build is there", () => note("server", "new"), false],
      ["declares them where a newer build of another deployment is there", () => note("worker", "new"), true],
      [
        "declares them where another deployment has a build of its id, and a newer one",
        async () => {
          await note("worker", "old");
          await stage.clock.advance(minute);
          await note("worker", "new");
        },
        true,
      ],
      [
        "declares them where the newer build was last seen two hours ago",
        async () => {
          await note("server", "new");
          await stage.onlooker.query(
            "update layover.deployment set seen_at = layover.now() - interval '1 hour' where id = 'new'",
          );
        },
        true,
      ],
      [
        "declares nothing where the newer build was seen less than two hours ago",
        async () => {
          await note("server", "new");
          await stage.onlooker.query(
            "update layover.deployment set seen_at = layover.now() - interval '59 minutes 59 seconds' where id = 'new'",
          );
        },
        false,
      ],
      [
        "declares them where the newer build is one of another namespace",
        () => note("server", "new", { namespace: "other" }),
        true,
      ],
    ])("%s", async (_, meanwhile, isDeclared) => {
      expect(await declares(meanwhile)).toBe(isDeclared);
    });
  },
  { perTest: true },
);
