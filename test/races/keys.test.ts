import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { type Session, stageOn } from "./stage.ts";

describeSomePostgres(
  "two API keys of one name, made at the same time",
  (database) => {
    const stage = stageOn(database);
    const create = (session: Session) =>
      session.call("create_key", { keyId: randomUUID(), name: "shop", scopes: ["read"] });

    test.each([
      ["commit", "taken"],
      ["rollback", "created"],
    ] as const)("are not both made: after the %s of the first one the name is %s", async (ends, outcome) => {
      const [one, other] = await stage.collide({ first: create, second: create, ends });
      expect([one.outcome, other.outcome]).toEqual(["created", outcome]);
      expect(await stage.look("select from layover.api_key where name = 'shop'")).toHaveLength(1);
    });
  },
  { perTest: true },
);
