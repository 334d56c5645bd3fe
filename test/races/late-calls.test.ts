/** Calls that a pooler sends on long after their caller has given them up. */
import { describe, expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { aRunAtWork, minute, noon } from "./runs.ts";
import { type Session, type Stage, stageOn } from "./stage.ts";

const keyId = "01980000-0000-7000-8000-000000000001";
const place = { environment: "production", endpoint: "db/main" };

interface Call {
  readonly arrange: (stage: Stage) => Promise<unknown>;
  readonly make: (session: Session, notAfter: number) => Promise<unknown>;
}

const aKey = (session: Session, more: object = {}) =>
  session.call("create_key", { keyId, name: "shop", scopes: ["start"], ...more });

const calls: Readonly<Record<string, Call>> = {
  "an environment's adoption": {
    arrange: async () => {},
    make: (session, notAfter) => session.call("adopt_environment", { ...place, notAfter }),
  },
  "the note that a deployment has ticked": {
    arrange: (stage) => stage.onlooker.call("adopt_environment", place),
    make: (session, notAfter) => session.call("note_deployment", { ...place, deployment: "d1", notAfter }),
  },
  "the listing of a process": {
    arrange: (stage) => stage.onlooker.call("adopt_environment", place),
    make: (session, notAfter) =>
      session.call("note_process", {
        ...place,
        id: keyId,
        door: "http://a",
        versions: {},
        gone: [],
        silentMs: 0,
        notAfter,
      }),
  },
  "the end of all leases": {
    arrange: (stage) => aRunAtWork(stage),
    make: (session, notAfter) => session.call("void_leases", { notAfter }),
  },
  "a pruning": {
    arrange: async (stage) => {
      const run = await aRunAtWork(stage);
      await run.finish(stage.onlooker, { token: "first", next: "completed" });
    },
    make: (session, notAfter) => session.call("prune_runs", { keepMs: 0, keepFailedMs: 0, limit: 10, notAfter }),
  },
  "a new API key": {
    arrange: async () => {},
    make: (session, notAfter) => aKey(session, { notAfter }),
  },
  "the revocation of an API key": {
    arrange: (stage) => aKey(stage.onlooker),
    make: (session, notAfter) => session.call("revoke_key", { keyId, notAfter }),
  },
};

describeSomePostgres(
  "a call that comes after the instant that its caller still counts on",
  (database) => {
    const stage = stageOn(database);
    const notAfter = noon + minute / 2;
    const all = async () => {
      const tables = ["environment", "api_key", "process", "run_state"];
      const parts = tables.map((table) => `(select json_agg(t) from layover.${table} t) as ${table}`);
      return (await stage.look(`select ${parts.join(", ")}`))[0];
    };

    describe.each(Object.entries(calls))("%s", (_, { arrange, make }) => {
      test("is refused, and changes nothing", async () => {
        await arrange(stage);
        const before = await all();
        await stage.clock.set(notAfter + 1);
        await expect(make(stage.onlooker, notAfter)).rejects.toMatchObject({ code: "LO002" });
        expect(await all()).toEqual(before);
      });

      test("takes effect at that very instant", async () => {
        await arrange(stage);
        const before = await all();
        await stage.clock.set(notAfter);
        await make(stage.onlooker, notAfter);
        expect(await all()).not.toEqual(before);
      });
    });
  },
  { perTest: true },
);
