/** Verbs as somebody calls them from SQL, who says no more than is needed: the namespace is then the default one. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aParkedRun, aRun, aStart, at, aWaitFor, branches, minute, noon, soon, terms } from "./runs.ts";
import { stageOn } from "./stage.ts";

describeSomePostgres(
  "from SQL",
  (database) => {
    const stage = stageOn(database);
    const call = async (name: string, parameter: object) =>
      (await stage.onlooker.query(`select layover.${name}($1) as answer`, [JSON.stringify(parameter)]))[0]?.["answer"];
    const start = async (more: object = {}) => {
      const { runId, ...rest } = aStart();
      await call("start_run", { runId, namespace: "default", ...rest, ...more });
      return { runId };
    };

    describe("a run is found", () => {
      test("by its id", async () => {
        const run = await start();
        expect(await call("get_run", run)).toMatchObject(run);
        expect(await call("get_run", { ...run, namespace: "elsewhere" })).toEqual({ outcome: "unknown" });
      });

      test("by the user's own id, which is one of its workflow", async () => {
        await start({ id: "o1", workflow: "other" });
        const run = await start({ id: "o1" });
        expect(await call("get_run", { workflow: "flow", id: "o1" })).toMatchObject(run);
      });

      test("by its id and its workflow, but by no other workflow", async () => {
        const run = await start();
        expect(await call("get_run", { ...run, workflow: "flow" })).toMatchObject(run);
        expect(await call("get_run", { ...run, workflow: "other" })).toEqual({ outcome: "unknown" });
      });
    });

    test("a key that was revoked is refused", async () => {
      const { runId } = await start();
      const [key, other] = [randomUUID(), randomUUID()];
      for (const keyId of [key, other])
        await stage.onlooker.call("create_key", { keyId, name: keyId, scopes: ["read"] });
      await stage.onlooker.query("update layover.api_key set revoked_at = layover.now() where id = $1", [key]);
      await expect(call("get_run", { runId, keyId: key })).rejects.toMatchObject({ code: "LO005" });
      expect(await call("get_run", { runId, keyId: other })).toMatchObject({ runId });
    });

    test("a key's name is taken until it expires, and free from that instant on", async () => {
      const create = () =>
        stage.onlooker.call("create_key", { keyId: randomUUID(), name: "shop", scopes: ["read"], expiresAt: soon });
      expect(await create()).toMatchObject({ outcome: "created" });
      await stage.clock.set(soon - 1);
      expect(await create()).toMatchObject({ outcome: "taken" });
      await stage.clock.set(soon);
      expect(await create()).toMatchObject({ outcome: "created" });
    });

    describe("a run is shown", () => {
      const order = (value: unknown) => JSON.stringify(value);

      test("with its own tags, by name", async () => {
        await start({ tags: { size: "L" } });
        const run = await start({ tags: { edge: "red", colour: "blue", area: "7" } });
        const bare = await start();
        expect(order(Reflect.get(Object(await call("get_run", run)), "tags"))).toBe(
          order({ area: "7", colour: "blue", edge: "red" }),
        );
        expect(order(Reflect.get(Object(await call("get_run", bare)), "tags"))).toBe("{}");
      });

      test.each([
        ["input", { encodedInput: "0123456789" }, "parked", {}],
        ["result", {}, "completed", { value: "0123456789" }],
        ["error", {}, "failed", { value: "0123456789" }],
      ])("with its %s as long as it may be, and without it beyond that", async (name, more, status, end) => {
        const run = await start(more);
        if ("value" in end) {
          await stage.onlooker.query(
            `update layover.run_state set status = $2, ${name} = $3, ended_at = layover.now(), ready_at = null,
               due_at = null where run_id = $1`,
            [run.runId, status, end.value],
          );
        }
        const shown = async (longest: number) =>
          (await stage.onlooker.query("select layover.describe($1, $2, $2) as answer", [run.runId, longest]))[0]?.[
            "answer"
          ];
        expect(await shown(10)).toMatchObject({ [name]: "0123456789", leftOut: [] });
        expect(await shown(9)).toMatchObject({ [name]: null, leftOut: [name] });
      });
    });

    test.each([
      ["a run", {}],
      ["a branch", at("a")],
    ])("%s is claimed by somebody who names no environment, where the namespace has one", async (_, place) => {
      const run = await ("path" in place ? aParkedRun(stage, branches(["a"])) : aRun(stage));
      const turns = [{ ...run.toClaim({ token: "bare" }), ...place }];
      const { environment: _environment, endpoint: _endpoint, ...rest } = terms;
      expect(await call("claim_turns", { namespace: "default", ...rest, turns })).toMatchObject({
        turns: [{ outcome: "claimed" }],
      });
    });

    describe("a run that does not get on is told of", () => {
      const troubles = async () => Reflect.get(Object(await call("diagnose", { namespace: "default" })), "troubles");
      const set = (table: string, what: string) => stage.onlooker.query(`update layover.${table} set ${what}`);

      test.each([
        ["crashes", "lost = 2", { claims: 2 }],
        ["unclaimed", "dispatches = 3", { dispatches: 3 }],
      ])("whether it is the run itself or a branch of it: %s", async (keptBy, what, more) => {
        await aParkedRun(stage, [aWaitFor("address", { until: noon + minute })]);
        const demand = { kind: "branch", path: "a", occurrence: 1, demandedAfter: 0, ordinal: 1 } as const;
        const run = await aParkedRun(stage, [demand]);
        expect(await troubles()).toEqual([]);
        await stage.onlooker.query(`update layover.run_state set ${what} where run_id = $1`, [run.id]);
        expect(await troubles()).toMatchObject([{ keptBy, runs: 1, example: run.id, ...more }]);
        await set("run_state", "lost = 0, dispatches = 0");
        await set("pending", `${what} where kind = 'branch'`);
        expect(await troubles()).toMatchObject([{ keptBy, runs: 1, example: run.id, ...more }]);
      });
    });
  },
  { perTest: true },
);
