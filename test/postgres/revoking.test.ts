/** Which API keys a revocation reaches: those of its namespace that it names, and no others. */
import { describe, expect, test } from "vitest";
import { minute, noon } from "../races/runs.ts";
import { stageOn } from "../races/stage.ts";
import { describeEachPostgres } from "./database.ts";

const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

describeEachPostgres(
  "the revocation of an API key",
  (database) => {
    const stage = stageOn(database);
    const call = async (name: string, parameter: object) => {
      const given = JSON.stringify({ namespace: "shop", ...parameter });
      const [row] = await stage.onlooker.query(`select layover.${name}($1) as answer`, [given]);
      return row?.["answer"];
    };
    const create = (n: number, name: string, more: object = {}) =>
      call("create_key", { keyId: idOf(n), name, scopes: ["read"], ...more });
    const revoke = (what: object) => call("revoke_key", what);
    const revokedAt = async () => {
      const rows = await stage.look(
        `select namespace, right(id::text, 1) as n, layover.to_ms(revoked_at)::float8 as at from layover.api_key
          order by namespace, id`,
      );
      return Object.fromEntries(rows.map(({ namespace, n, at }) => [`${namespace} ${n}`, at]));
    };

    test("by its name reaches all of the name that were not revoked before, those that expired too", async () => {
      await create(3, "ci", { expiresAt: noon - 1 });
      await create(2, "ci", { expiresAt: noon - 1 });
      await create(1, "ci");
      await create(4, "other");
      await create(5, "ci", { namespace: "mail" });
      await revoke({ keyId: idOf(2) });
      await stage.clock.advance(minute);
      expect(await revoke({ name: "ci" })).toEqual({
        outcome: "revoked",
        keys: [
          { keyId: idOf(1), name: "ci" },
          { keyId: idOf(3), name: "ci" },
        ],
        now: noon + minute,
      });
      expect(await revokedAt()).toEqual({
        "mail 5": null,
        "shop 1": noon + minute,
        "shop 2": noon,
        "shop 3": noon + minute,
        "shop 4": null,
      });
      expect(await revoke({ name: "ci" })).toEqual({ outcome: "unknown", keys: [], now: noon + minute });
    });

    test("by its id reaches that one, wherever others were made", async () => {
      await create(1, "one", { namespace: "mail" });
      await create(2, "two");
      await create(3, "three");
      expect(await revoke({ keyId: idOf(2) })).toMatchObject({ outcome: "revoked", keys: [{ keyId: idOf(2) }] });
      expect(await revokedAt()).toEqual({ "mail 1": null, "shop 2": noon, "shop 3": null });
    });

    test("by an id that nobody knows writes it down, in each namespace that asks", async () => {
      for (const namespace of ["mail", "shop"]) {
        const answer = { outcome: "revoked", keys: [{ keyId: idOf(1), name: null }], now: noon };
        expect(await revoke({ namespace, keyId: idOf(1) })).toEqual(answer);
      }
      expect(await revokedAt()).toEqual({ "mail 1": noon, "shop 1": noon });
    });

    test("again changes nothing", async () => {
      await create(1, "one");
      await revoke({ keyId: idOf(1) });
      await stage.clock.advance(minute);
      expect(await revoke({ keyId: idOf(1) })).toMatchObject({ outcome: "revoked", keys: [{ name: "one" }] });
      expect(await revokedAt()).toEqual({ "shop 1": noon });
    });

    test("is listed, with those that were made elsewhere by when they were revoked", async () => {
      await create(1, "one");
      await stage.clock.advance(minute);
      await revoke({ keyId: idOf(2) });
      await stage.clock.advance(minute);
      await create(3, "three");
      await create(4, "four", { namespace: "mail" });
      expect(await call("list_keys", {})).toMatchObject({
        keys: [{ keyId: idOf(3) }, { keyId: idOf(2) }, { keyId: idOf(1) }],
      });
      expect(await call("list_keys", { namespace: "nobody" })).toMatchObject({ keys: [] });
    });

    test("leaves a name free from the very millisecond that its last key expires", async () => {
      await create(1, "ci", { expiresAt: noon + minute });
      await stage.clock.set(noon + minute - 1);
      expect(await create(2, "ci")).toMatchObject({ outcome: "taken" });
      await stage.clock.set(noon + minute);
      expect(await create(2, "ci")).toMatchObject({ outcome: "created" });
    });

    describe("by the end of a session", () => {
      const day = 24 * 60 * minute;
      /** So many sessions that have ended, with the ids from this one on. They would have ended by themselves so long ago. */
      const sessions = (first: number, count: number, agoMs: number, namespace = "shop") =>
        stage.onlooker.query(
          `insert into layover.api_key (namespace, id, revoked_at, expires_at)
             select $1, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, layover.now(), layover.from_ms($2)
               from generate_series($3::integer, $4::integer) as n`,
          [namespace, noon - agoMs, first, first + count - 1],
        );
      const left = async () =>
        (await stage.look("select right(id::text, 3)::integer as n from layover.api_key order by namespace, id")).map(
          ({ n }) => n,
        );
      const end = (keyId = idOf(1)) => revoke({ keyId, expiresAt: noon + minute });

      test("writes down when that would have ended by itself", async () => {
        expect(await end()).toEqual({ outcome: "revoked", keys: [{ keyId: idOf(1), name: null }], now: noon });
        const rows = await stage.look(
          "select namespace, name, layover.to_ms(expires_at)::float8 as at from layover.api_key",
        );
        expect(rows).toEqual([{ namespace: "shop", name: null, at: noon + minute }]);
      });

      test("forgets those that would have ended more than a day ago, in its namespace, and no key", async () => {
        await sessions(10, 1, day + 1);
        await sessions(11, 1, day);
        await sessions(12, 1, day + 1, "mail");
        await create(3, "ci", { expiresAt: noon - day - 1 });
        await end();
        expect(await left()).toEqual([12, 1, 3, 11]);
      });

      test("forgets a hundred at once, the first by their ids", async () => {
        await sessions(10, 101, day + 1);
        await end();
        expect(await left()).toEqual([1, 110]);
      });

      test("waits for nobody who forgets the same one", async () => {
        await sessions(10, 2, day + 1);
        await stage.hold("select from layover.api_key where right(id::text, 2) = '10' for update");
        await stage.onlooker.query("set statement_timeout = '5s'");
        await end();
        expect(await left()).toEqual([1, 10]);
      });

      test("alone forgets others", async () => {
        await sessions(10, 1, day + 1);
        await revoke({ keyId: idOf(1) });
        expect(await left()).toEqual([1, 10]);
      });
    });
  },
  { perTest: true },
);
