import { expect, test } from "vitest";
import { testDatabase } from "../postgres/database.ts";
import { deploy } from "./deployed-worker.ts";
import { carryOrderToItsEnd } from "./order.ts";
import { aProject, scriptIn, secretsIn } from "./project.ts";

const database = testDatabase({ isEmpty: true });

test("an empty folder becomes a project for Cloudflare that typechecks, migrates a Postgres, is bundled by wrangler and carries an order to its end", {
  timeout: 180_000,
}, async () => {
  const { folder, key } = await aProject("cloudflare", database.url);
  expect(scriptIn(folder, "deploy")).toBe("wrangler deploy");
  const worker = await deploy({ folder, secrets: secretsIn(folder, ".dev.vars"), databaseUrl: database.url });
  await carryOrderToItsEnd({ ...worker, key });
  expect(await worker.ring()).toBe("ok");
});
