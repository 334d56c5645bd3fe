/** Which other deployments are named to whoever meets what it does not carry: those that are there, carry it, and can be rung. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { noteOn } from "./deploying.ts";
import { aFanOut, aRun, at, minute, noon, type Run, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

const hour = 60 * minute;

describeSomePostgres(
  "what is carried elsewhere",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
      ],
    });
    const note = (deploymentName: string, deployment: string, more: object = {}) =>
      noteOn(stage)(deploymentName, deployment, { wakeAddress: `${deploymentName}/${deployment}`, ...more });
    /** It carries another version. */
    const here = { ...terms, versions: { flow: [2] }, deploymentName: "here", deployment: "1" };
    /** Nobody has seen it for hours. */
    const isGone = (where: string) =>
      stage.onlooker.query(
        `update layover.deployment set seen_at = layover.now() - interval '14 hours' where ${where}`,
      );

    /** Each case has the deployment `there/1`, which carries what is asked for, and another one. */
    const cases: readonly (readonly [what: string, meanwhile: () => Promise<unknown>, addresses: readonly string[]])[] =
      [
        ["two of them", () => note("two", "1"), ["there/1", "two/1"]],
        ["and none of other versions", () => note("two", "1", { versions: { flow: [3] } }), ["there/1"]],
        ["and none of other workflows", () => note("two", "1", { versions: { other: [1] } }), ["there/1"]],
        [
          "and none of another namespace",
          () => note("there", "1", { namespace: "other", wakeAddress: "other" }),
          ["there/1"],
        ],
        ["and none that nobody can ring", () => note("two", "1", { wakeAddress: undefined }), ["there/1"]],
        [
          "and none that is gone, though it has the build of one that is there",
          async () => {
            await note("gone", "1");
            await isGone("name = 'gone'");
          },
          ["there/1"],
        ],
        [
          "and none that is gone, though a newer one has its name",
          async () => {
            await note("there", "0");
            await isGone("id = '0'");
          },
          ["there/1"],
        ],
      ];

    describe("is told to whoever claims it:", () => {
      const carriers = (answer: object) => ("carriers" in answer ? answer.carriers : undefined);
      const claim = async (run: Run, path?: string) => {
        const turn = { ...run.toClaim({ token: "second" }), ...(path !== undefined && at(path)) };
        const [told] = (await stage.onlooker.call("claim_turns", { ...terms, ...here, turns: [turn] })).turns;
        return told ?? {};
      };

      test.each(cases)("%s", async (_, meanwhile, addresses) => {
        const run = await aRun(stage);
        await note("there", "1");
        await meanwhile();
        const told = await claim(run);
        expect(told).toMatchObject({ outcome: "not_here" });
        expect(carriers(told)).toEqual(addresses);
      });

      test("none that has refused it", async () => {
        const run = await aRun(stage);
        await note("there", "1");
        await note("two", "2");
        await stage.onlooker.query("update layover.run_state set refused_by = $1", [
          JSON.stringify({ 2: { at: noon + 1, why: "no" } }),
        ]);
        expect(carriers(await claim(run))).toEqual(["there/1"]);
      });

      test("of a branch, too", async () => {
        const run = await aFanOut(stage, ["a"]);
        await note("there", "1");
        await stage.onlooker.query("update layover.pending set leased_until = layover.now()");
        expect(carriers(await claim(run, "a"))).toEqual(["there/1"]);
      });
    });

    describe("is told to the scheduler once it is due,", () => {
      const elsewhere = async (more: object = {}) => {
        const answer: object = await stage.onlooker.call("list_due", { ...here, limit: 500, ...more });
        return "elsewhere" in answer ? answer.elsewhere : undefined;
      };
      const due = (run: Run, dueAt: number) =>
        stage.onlooker.query("update layover.run_state set due_at = layover.from_ms($2) where run_id = $1", [
          run.id,
          dueAt,
        ]);
      const aSchedule = async (name: string, dueAt: number, more: object = {}, call: object = {}) => {
        const definition = { workflow: "flow", version: 1, everyMs: hour, startAt: noon, encodedInput: "0null" };
        await stage.onlooker.call("create_schedule", {
          ...{ name, definition: { ...definition, ...more }, armed: [noon + hour] },
          ...call,
        });
        await stage.onlooker.query("update layover.schedule set due_at = layover.from_ms($2) where name = $1", [
          name,
          dueAt,
        ]);
      };

      test.each(cases)("%s", async (_, meanwhile, addresses) => {
        await due(await aRun(stage), noon - minute);
        await note("there", "1");
        await meanwhile();
        expect(await elsewhere()).toEqual(addresses.map((address) => ({ address, dueAt: noon - minute })));
      });

      test("with since when the first of its runs is due, those first that have waited longest", async () => {
        await due(await aRun(stage), noon - minute);
        await due(await aRun(stage), noon - 3 * minute);
        await due(await aRun(stage), noon + 1);
        await stage.onlooker.call("start_run", {
          ...{ runId: crypto.randomUUID(), workflow: "other", version: 1, encodedInput: "0{}", armed: [noon] },
        });
        await stage.onlooker.query(
          "update layover.run_state set due_at = layover.from_ms($1) where run_id in (select id from layover.run where workflow = 'other')",
          [noon - 2 * minute],
        );
        await note("a later one", "1", { versions: { other: [1] } });
        await note("the first one", "1");
        expect(await elsewhere()).toEqual([
          { address: "the first one/1", dueAt: noon - 3 * minute },
          { address: "a later one/1", dueAt: noon - 2 * minute },
        ]);
      });

      test("once an address, since when the first is due of all its builds", async () => {
        const [first, later] = [await aRun(stage), await aRun(stage)];
        await note("there", "1", { wakeAddress: "one" });
        await note("two", "1", { versions: { flow: [3] }, wakeAddress: "one" });
        await due(first, noon - 2 * minute);
        await stage.onlooker.query("update layover.run set version = 3 where id = $1", [later.id]);
        await due(later, noon - minute);
        expect(await elsewhere()).toEqual([{ address: "one", dueAt: noon - 2 * minute }]);
      });

      test("and nothing that is carried here, too", async () => {
        const run = await aRun(stage);
        await stage.onlooker.query("update layover.run set version = 2 where id = $1", [run.id]);
        await due(run, noon - minute);
        await aSchedule("of both", noon - minute, { version: 2 });
        await aSchedule("of both, soon", noon + 1, { version: 1 });
        await note("there", "1", { versions: { flow: [1, 2] } });
        expect(await elsewhere()).toBeNull();
      });

      test("with its schedules", async () => {
        await aRun(stage);
        await note("there", "1");
        await aSchedule("late", noon - minute);
        await aSchedule("first", noon - 2 * minute);
        await aSchedule("soon", noon + 1);
        await aSchedule("of another workflow", noon - 5 * minute, { workflow: "another" });
        await aSchedule("of this deployment", noon - 5 * minute, { version: 2 });
        await aSchedule("of another namespace", noon - 5 * minute, {}, { namespace: "other" });
        await stage.onlooker.query("update layover.run_state set due_at = null");
        expect(await elsewhere()).toEqual([{ address: "there/1", dueAt: noon - 2 * minute }]);
        const [run] = await stage.look("update layover.run_state set due_at = layover.from_ms($1) returning run_id", [
          noon - 3 * minute,
        ]);
        expect(run).toBeDefined();
        expect(await elsewhere()).toEqual([{ address: "there/1", dueAt: noon - 3 * minute }]);
        await stage.look("update layover.run_state set due_at = layover.from_ms($1)", [noon - minute]);
        expect(await elsewhere()).toEqual([{ address: "there/1", dueAt: noon - 2 * minute }]);
      });

      test("with a schedule that is due now", async () => {
        await aRun(stage);
        await note("there", "1");
        await stage.onlooker.query("update layover.run_state set due_at = null");
        await aSchedule("now", noon);
        expect(await elsewhere()).toEqual([{ address: "there/1", dueAt: noon }]);
      });

      test("and nothing is where it carries all that they do", async () => {
        await due(await aRun(stage), noon - minute);
        await note("there", "1");
        expect(await elsewhere({ versions: { flow: [1, 2] } })).toBeNull();
      });
    });
  },
  { perTest: true },
);
