/** When a run that parks is ready again, and looked at: by its own rows, and by those alone that still count. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { ended, rowsOn } from "./rows.ts";
import { aRunAtWork, minute, noon, type Run, soon } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "a run that parks",
  (database) => {
    const stage = stageOn(database, {
      breaks: [
        "due may be early, never late (by more than two minutes)",
        "what is not over, paused or blocked and needs to be looked at has a due instant",
        "the end of a run has reached the one that waits for it",
        "a map counts the branches that it waits for",
        "a signal is taken once, by a record of its kind with its payload",
        "a parked run that a signal or an answer waits for is ready",
        "a parked run is ready once a run has ended in time that it waits for",
        "a parked run is ready from its cancel, its timeout or the end of its cleanups' hour on",
      ],
    });
    const [two, five, later] = [noon + 2 * minute, noon + 5 * minute, noon + 60 * minute];
    const armed = [soon, two, five, later];
    const { wait, answer } = rowsOn(stage);
    const at = (ms: number) => `layover.from_ms(${ms})`;
    const leased = (ms: number) => ({ token: "gen_random_uuid()", leased_until: at(ms) });
    const row = async ({ id }: Run) => {
      const [found] = await stage.look(
        `select layover.to_ms(ready_at)::float8 as "readyAt", layover.to_ms(due_at)::float8 as "dueAt", has_pending as "hasPending",
            has_mail as "hasMail" from layover.run_state where run_id = $1`,
        [id],
      );
      return found;
    };
    const nothing = { readyAt: null, dueAt: null, hasPending: false, hasMail: false };
    const pending = { ...nothing, hasPending: true };

    test.each<readonly [what: string, arrange: (run: Run, other: Run) => Promise<unknown>, then: object]>([
      ["has nothing to wait for", async () => {}, nothing],
      [
        "waits for its next attempt",
        (run) => wait(run, "retry", { ready_at: at(five) }),
        { ...pending, readyAt: five, dueAt: five },
      ],
      ["waits for nothing of another run", (_, other) => wait(other, "retry", { ready_at: at(five) }), nothing],
      ["sleeps", (run) => wait(run, "sleep", { until: at(five) }), { ...pending, readyAt: five, dueAt: five }],
      [
        "waits for the first of several",
        async (run) => {
          await wait(run, "sleep", { until: at(later), path: "'nap'" });
          await wait(run, "retry", { ready_at: at(five) });
        },
        { ...pending, readyAt: five, dueAt: five },
      ],
      [
        "waits for a run for a while",
        (run) => wait(run, "child", { until: at(five) }),
        { ...pending, readyAt: five, dueAt: five },
      ],
      [
        "waits for a run, for a while, that ends with it",
        (run) => wait(run, "child", { until: at(five), child_bond: "'cancel'" }),
        { ...pending, readyAt: five, dueAt: five },
      ],
      [
        "has left a run that ends with it",
        (run) => wait(run, "child", { until: at(five), child_bond: "'cancelled'", is_released: "true" }),
        pending,
      ],
      [
        "has lost a wait for a run that goes on without it",
        (run) => wait(run, "child", { until: at(five), is_released: "true" }),
        { ...pending, readyAt: five, dueAt: five },
      ],
      [
        "has a branch at work, and is looked at as early as it was before",
        (run) => wait(run, "branch", leased(five)),
        { ...pending, dueAt: soon },
      ],
      [
        "has no branch that is to be looked at earlier",
        async (run) => {
          await wait(run, "sleep", { until: at(five) });
          await stage.onlooker.query("update layover.run_state set has_pending = true, due_at = layover.from_ms($1)", [
            two,
          ]);
        },
        { ...pending, readyAt: five, dueAt: five },
      ],
      [
        "has a timeout ahead of what it waits for",
        async (run) => {
          await wait(run, "sleep", { until: at(later) });
          await stage.onlooker.query("update layover.run_state set timeout_at = layover.from_ms($1)", [five]);
        },
        { ...pending, readyAt: five, dueAt: five },
      ],
      ["has mail that it does not wait for", (run) => run.signal(stage.onlooker, "go"), { ...nothing, hasMail: true }],
      [
        "has taken its mail",
        async (run) => {
          await run.signal(stage.onlooker, "go");
          await stage.onlooker.query("update layover.signal set position = 0");
        },
        nothing,
      ],
      ["has no mail, as another run has", (_, other) => other.signal(stage.onlooker, "go"), nothing],
      ["has an answer that it does not wait for", (run) => answer(run), { ...nothing, hasMail: true }],
      ["has taken its answer", (run) => answer(run, { position: "0" }), nothing],
      ["has no answer, as another run has", (_, other) => answer(other), nothing],
      [
        "has a run that has ended",
        (run) => wait(run, "child", ended),
        { ...pending, readyAt: 0, dueAt: soon, hasMail: true },
      ],
      ["has left a run that has ended", (run) => wait(run, "child", { ...ended, is_released: "true" }), pending],
      ["has no run that has ended, as another run has", (_, other) => wait(other, "child", ended), nothing],
    ])("%s", async (_, arrange, then) => {
      const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      // Something was demanded before, so the finish looks at what is pending.
      await stage.onlooker.query("update layover.run_state set has_pending = true, due_at = null");
      await arrange(run, other);
      await run.finish(stage.onlooker, { token: "first", armed });
      expect(await row(run)).toMatchObject(then);
    });

    test("has no maps any more once nothing of it is pending, and others keep theirs", async () => {
      const [run, other] = [await aRunAtWork(stage), await aRunAtWork(stage)];
      const columns = (
        await stage.look(
          "select attname, format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = 'layover.map'::regclass and attnum > 0 and attnotnull and not atthasdef",
        )
      ).map(({ attname, type }) => [String(attname), String(type)] as const);
      for (const { id } of [run, other]) {
        const values = columns.map(([name, type]) =>
          name === "run_id" ? `'${id}'` : type === "text" ? "'all'" : type === "boolean" ? "false" : "1",
        );
        await stage.onlooker.query(
          `insert into layover.map (${columns.map(([name]) => name).join(", ")}) values (${values.join(", ")})`,
        );
      }
      await stage.onlooker.query("update layover.run_state set has_pending = true");
      await run.finish(stage.onlooker, { token: "first" });
      expect(await stage.look("select run_id from layover.map")).toEqual([{ run_id: other.id }]);
    });

    describe("while it is paused", () => {
      test("is not told to be ready, though it is", async () => {
        const run = await aRunAtWork(stage);
        await run.operate(stage.onlooker, "pause");
        await wait(run, "child", ended);
        await stage.onlooker.query("update layover.run_state set has_pending = true");
        expect(await run.finish(stage.onlooker, { token: "first" })).toMatchObject({ isReady: false });
        expect(await row(run)).toMatchObject({ readyAt: 0, dueAt: null });
      });
    });
  },
  { perTest: true },
);
