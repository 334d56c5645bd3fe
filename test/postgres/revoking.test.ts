/** Which API keys a revocation reaches: those of its namespace that it names, and no others. */
import { expect, test } from "vitest";
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
  },
  { perTest: true },
);
