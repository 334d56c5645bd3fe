import { expect, onTestFinished, test } from "vitest";
import { ServerProcess } from "../platform/server-process.ts";
import { testDatabase } from "../postgres/database.ts";
import { carryOrderToItsEnd } from "./order.ts";
import { aProject, scriptIn, serve } from "./project.ts";

const database = testDatabase({ isEmpty: true });

test("an empty folder becomes a project for Node that typechecks, migrates a Postgres and carries an order to its end", {
  timeout: 180_000,
}, async () => {
  const { folder, key } = await aProject("node", database.url);
  const server = await serve(folder);
  await carryOrderToItsEnd({ ...server, key });
  expect(await server.kill("SIGTERM")).toBe(0);

  expect(scriptIn(folder, "dev")).toBe("layover dev");
  const dev = new ServerProcess(["node_modules/layover/dist/cli/main.js", "dev", "--port", "0"], { cwd: folder });
  onTestFinished(async () => void (await dev.kill()));
  await dev.untilSaid(/layover serves .*order \(version 1\).* at http:/);
});
