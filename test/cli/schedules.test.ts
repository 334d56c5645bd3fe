/** `layover schedules`: looking at schedules, and making and changing them. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { schedule } from "../../src/core/contract/schedule.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { layover, type Said, secret, secrets } from "./layover.ts";
import { napWorkflow, orderWorkflow } from "./workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

const guide = readFileSync("functions/README.md", "utf8");
const nightly = schedule({
  name: "nightly",
  cron: "0 3 * * *",
  timezone: "Europe/Berlin",
  start: napWorkflow.contract,
});

describe("layover schedules", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;

  beforeEach(async () => {
    server = await serve({
      workflows: [napWorkflow, orderWorkflow],
      schedules: [nightly],
      database: database.query,
      secrets: [secret],
      port: 0,
      onEvent: () => {},
    });
    await server.client.wake();
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const ask = (...args: readonly string[]): Promise<Said> => askAt(server, ...args);
  const askAt = (host: NodeServer | undefined, ...args: readonly string[]): Promise<Said> =>
    layover(["schedules", ...args], { env: { LAYOVER_URL: host?.url ?? "", LAYOVER_KEY: key } });

  test("makes, lists, shows, pauses, triggers and deletes them", async () => {
    const made = await ask("create", "o1", "order", "--every", "2h", "--input", '{"amount": 5}');
    expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(/^The schedule o1 is made. It fires in /) });
    expect((await ask("create", "o1", "order", "--every", "3h", "--input", '{"amount": 5}')).stderr).toContain(
      "is taken",
    );
    const { stdout } = await ask("list");
    expect(stdout).toMatch(/NAME +WORKFLOW +CALENDAR +NEXT/);
    expect(stdout).toMatch(/nightly +nap 1 +0 3 \* \* \* Europe\/Berlin +in /);
    expect(stdout).toMatch(/o1 +order 1 +every 2 h +in /);
    expect((await ask("pause", "o1", "--by", "ada", "--reason", "holidays")).stdout).toBe(
      "The schedule o1 is paused.\n",
    );
    expect((await ask("list")).stdout).toMatch(/o1 .* paused +paused by ada: holidays/);
    const { stdout: runId } = await ask("trigger", "nightly");
    expect((await server?.client.get(runId.trim()))?.workflow).toBe("nap");
    const shown = (await ask("show", "nightly")).stdout;
    expect(shown).toContain("nightly starts nap (version 1): 0 3 * * * Europe/Berlin");
    expect(shown).toContain("The code of node declares it.");
    expect(shown).toContain("It has started 1 runs");
    expect((await ask("resume", "o1")).stdout).toBe("The schedule o1 goes on.\n");
    expect((await ask("delete", "o1")).stdout).toBe("The schedule o1 is deleted.\n");
    expect((await ask("delete", "nightly")).stderr).toContain('is declared by the code of "node"');
    expect((await ask("show", "o1")).stderr).toContain('There is no schedule "o1"');
    expect((await ask("create", "x", "nap", "--cron", "61 * * * *")).stderr).toContain("61");
  });

  test("take a reason only where it is kept", async () => {
    const { stdout: runId } = await ask("trigger", "nightly", "--by", "ada", "--reason", "it is late");
    expect((await server?.client.history(runId.trim()))?.operations).toMatchObject([
      { verb: "trigger", by: "ada", reason: "it is late" },
    ]);
    for (const command of [["resume"], ["delete"], ["adopt", "--owner", "next"]])
      expect(await ask(...command, "nightly", "--reason", "it is late")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("Unknown option '--reason'"),
      });
  });

  /** A deployment of another name, whose code declares the same. */
  const deployBeside = async (deploymentName: string) => {
    const beside = await serve({
      workflows: [napWorkflow, orderWorkflow],
      schedules: [nightly],
      database: database.query,
      secrets: [secret],
      deploymentName,
      port: 0,
      onEvent: () => {},
    });
    await beside.client.wake();
    return beside;
  };

  test("hands them over to a new host by the command of the guide, which takes them along when the old one goes", async () => {
    const [, adopts = ""] = /`npx layover schedules (adopt [^`]+)`/.exec(guide) ?? [];
    const command = adopts.replace("NAME", "nightly").replace("NEW", "next").split(" ");
    await ask("pause", "nightly", "--by", "ada");
    const beside = await deployBeside("next");
    try {
      for (const _ of [1, 2])
        expect(await ask(...command)).toMatchObject({
          status: 0,
          stdout: "The schedule nightly belongs to next now.\n",
        });
      expect((await ask("show", "nightly")).stdout).toContain(
        "The code of next declares it.\nThe code of node declares the same.",
      );
      expect((await ask("list")).stdout).toContain("paused by ada");
    } finally {
      await beside.close();
    }
  });

  test("has the doctor say by which command another host adopts them, once their own is gone", async () => {
    const beside = await deployBeside("next");
    try {
      await server?.close();
      const { stdout } = await layover(["doctor"], { env: { DATABASE_URL: database.url } });
      const said = stdout.replace(/\s+/g, " ");
      expect(said).toContain("nightly: its owner node is gone");
      const [, adopts = ""] = /layover schedules (adopt nightly --owner \w+)/.exec(said) ?? [];
      expect((await askAt(beside, ...adopts.split(" "))).stdout).toBe("The schedule nightly belongs to next now.\n");
      const { stdout: after } = await layover(["doctor"], { env: { DATABASE_URL: database.url } });
      expect(after).not.toContain("nightly");
    } finally {
      await beside.close();
    }
    const { stdout } = await layover(["doctor"], { env: { DATABASE_URL: database.url } });
    expect(stdout.replace(/\s+/g, " ")).toContain("If it is gone for good: layover schedules delete nightly");
  });
});
