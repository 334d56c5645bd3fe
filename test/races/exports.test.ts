/** An export is written down with its first page, and nobody gets a later page without that. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRun, noon, type Run, terms } from "./runs.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "an export",
  (database) => {
    const stage = stageOn(database);
    const callId = randomUUID();
    const exporting =
      (run: Run, more: object = {}) =>
      (session: Session) =>
        session.call("export_run", { runId: run.id, callId, by: "ada", ...more });
    const kept = () => stage.look("select run_id, verb, asked_by from layover.operation");
    const keptOnce = (run: Run) => [{ run_id: run.id, verb: "export", asked_by: "ada" }];

    test("is kept with its first page, once, and its further pages name that", async () => {
      const run = await aRun(stage);
      expect(await exporting(run, { after: 1 })(stage.onlooker)).toEqual({ outcome: "not_applicable" });
      expect(await kept()).toEqual([]);
      expect(await exporting(run)(stage.onlooker)).toMatchObject({ outcome: "read", rest: expect.anything() });
      expect(await exporting(run, { after: 1 })(stage.onlooker)).toMatchObject({ outcome: "read", rest: null });
      expect(await kept()).toEqual(keptOnce(run));
      const another = { after: 1, callId: randomUUID() };
      expect(await exporting(run, another)(stage.onlooker)).toEqual({ outcome: "not_applicable" });
    });

    test("that comes twice at once is kept once", async () => {
      const run = await aRun(stage);
      const both = await stage.collide({ first: exporting(run), second: exporting(run) });
      expect(both).toMatchObject([{ outcome: "read" }, { outcome: "read" }]);
      expect(await kept()).toEqual(keptOnce(run));
    });

    test("waits for no lock of another run", async () => {
      const [run, other] = [await aRun(stage), await aRun(stage)];
      await stage.hold("select from layover.run_state where run_id = $1 for update", [other.id]);
      await stage.onlooker.query("set statement_timeout = '5s'");
      expect(await exporting(run)(stage.onlooker)).toMatchObject({ outcome: "read" });
    });

    test("of a run that is not there is unknown", async () => {
      await aRun(stage);
      const nobody = { runId: randomUUID() };
      expect(await stage.onlooker.call("export_run", { ...nobody, callId })).toEqual({ outcome: "unknown" });
    });

    test("is refused with a key that was revoked, elsewhere, too late, and where it would not see all", async () => {
      const [run, keyId] = [await aRun(stage), randomUUID()];
      await stage.onlooker.call("create_key", { keyId, name: "shop", scopes: ["read"] });
      expect(await exporting(run, { keyId })(stage.onlooker)).toMatchObject({ outcome: "read" });
      await stage.onlooker.call("revoke_key", { keyId });
      for (const [more, code] of [
        [{ keyId }, "LO005"],
        [{ environment: "staging", endpoint: terms.endpoint }, "LO010"],
        [{ notAfter: noon - 1 }, "LO002"],
      ] as const)
        await expect(exporting(run, { callId: randomUUID(), ...more })(stage.onlooker)).rejects.toMatchObject({ code });
      const blind = await stage.session("blind");
      await blind.begin("repeatable read");
      await expect(exporting(run)(blind)).rejects.toMatchObject({ code: "LO001" });
      await blind.rollback();
      expect(await kept()).toEqual(keptOnce(run));
    });
  },
  { perTest: true },
);
