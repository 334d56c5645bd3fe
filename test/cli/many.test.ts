/** `layover pause`, `resume`, `cancel` and `terminate` with a filter instead of a run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { commandLine, layover, type Said, secret, secrets } from "./layover.ts";
import { napWorkflow } from "./workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

describe("the commands for many runs", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;

  async function deploy(runs: number): Promise<readonly string[]> {
    server = await serve({
      workflows: [napWorkflow],
      database: database.query,
      secrets: [secret],
      port: 0,
      onEvent: () => {},
    });
    const runIds: string[] = [];
    for (let n = 0; n < runs; n += 1) {
      const { runId } = await server.client.start(napWorkflow.contract, undefined, { delay: "1 day" });
      runIds.push(runId);
    }
    return runIds;
  }

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const env = () => ({ LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key });
  const ask = (...args: readonly string[]): Promise<Said> => layover(args, { env: env() });
  const callIn = (said: string) => /--call ([0-9a-f-]{36})/.exec(said)?.[1] ?? "none";
  const statuses = async () => (await server?.client.list())?.runs.map(({ status }) => status).toReversed();

  test("tell which runs are meant in a dry run, and do it then to these", async () => {
    const runIds = await deploy(2);
    const dry = await ask("cancel", "--workflow", "nap", "--dry-run");
    expect(dry.stdout).toBe(
      `2 runs: 2 sleeping.\n${runIds[1]}\n${runIds[0]}\nNothing was done. To cancel these and no newer ones: the same command with --call ${callIn(dry.stdout)} instead of --dry-run\n`,
    );
    expect(await statuses()).toEqual(["sleeping", "sleeping"]);
    const done = await ask("cancel", "--workflow", "nap", "--call", callIn(dry.stdout), "--reason", "ordered twice");
    expect(done).toEqual({ status: 0, stdout: "2 runs: 2 cancelled.\n", stderr: "2 runs, 2 cancelled\n" });
    expect((await ask("cancel", "--workflow", "nap")).stdout).toBe("No run fits.\n");
  });

  test("say how many it would be, and do nothing unless that is meant", async () => {
    await deploy(2);
    expect(await ask("terminate", "--workflow", "nap")).toEqual({
      status: 1,
      stdout: "",
      stderr:
        "2 runs, 2 sleeping\n2 runs: 2 sleeping. They would be terminated.\nNothing was changed. If that is meant: layover terminate … --yes\n",
    });
    expect(await statuses()).toEqual(["sleeping", "sleeping"]);
  });

  test("signal, restart and delete all that fit", async () => {
    await deploy(2);
    expect((await ask("signal", "--workflow", "nap", "wake up", "--yes")).stderr).toContain("wake up");
    expect((await ask("signal", "wake up")).stderr).toMatch(/^Name the signal, and a run or a workflow\.\n/);
    await ask("terminate", "--workflow", "nap", "--yes");
    expect((await ask("restart", "--workflow", "nap")).stderr).toMatch(/^Which runs are to begin again is not clear/);
    const restarted = await ask(
      "restart",
      "--workflow",
      "nap",
      "--status",
      "cancelled",
      "--per-second",
      "500",
      "--yes",
    );
    expect(restarted.stdout).toBe("2 runs: 2 restarted.\n");
    const refused = await ask("delete", "--workflow", "nap", "--yes");
    expect(refused.stdout).toMatch(/^2 runs: 2 refused\.\nRefused, as not_applicable: 2 runs\./);
    const { stderr } = await ask("delete", "--workflow", "nap", "--cancel", "--yes");
    expect(stderr).toMatch(/ cancelling\nTo delete those .* --call \S+\n$/);
    for (let told = ""; !told.includes("No run fits"); ) {
      told = (await ask("delete", "--workflow", "nap", "--cancel", "--call", callIn(stderr))).stdout;
    }
    expect(await statuses()).toEqual([]);
  });

  test("prune what has been over for long enough, and nothing else", async () => {
    const [one] = await deploy(2);
    await server?.client.terminate(one ?? "");
    expect((await ask("prune", "--workflow", "nap")).stderr).toMatch(/--older-than/);
    expect((await ask("prune", "--older-than", "1 day", "--yes")).stdout).toBe("No run fits.\n");
    const dry = await ask("prune", "--older-than", "1ms", "--dry-run");
    expect(dry.stdout).toMatch(/^1 run: 1 cancelled\.\n/);
    expect((await ask("prune", "--older-than", "1ms", "--yes")).stdout).toBe("1 run: 1 deleted.\n");
    expect(await statuses()).toEqual(["sleeping"]);
  });

  test("tell of refused runs why, and which", async () => {
    const [one, two] = await deploy(2);
    await server?.client.pause(two ?? "");
    await database.pool.query("update layover.run_state set is_closing = true where run_id = $1", [one]);
    const { stdout } = await ask("pause", "--workflow", "nap", "--by", "ada", "--yes");
    expect(stdout).toBe(`2 runs: 1 paused, 1 refused.\nRefused, as not_applicable: 1 run.\n  ${one}\n`);
    const { stdout: json } = await ask("resume", "--workflow", "nap", "--json", "--yes");
    expect(JSON.parse(json)).toMatchObject({ runs: 1, outcomes: { resumed: 1 } });
  });

  test("stop at Ctrl-C after the page under way, and tell how to go on", async () => {
    await deploy(3);
    const { command, args, options } = commandLine(["terminate", "--workflow", "nap", "--per-second", "1", "--yes"], {
      env: env(),
    });
    const child = spawn(command, args, options);
    child.stdin.end();
    await once(child.stderr, "readable"); // it has told how far it is
    child.kill("SIGINT");
    const [stderr, stdout, [status]] = await Promise.all([
      text(child.stderr),
      text(child.stdout),
      once(child, "close"),
    ]);
    expect([status, stdout]).toEqual([130, ""]);
    expect(stderr).toMatch(
      /^1 run, 1 terminated\nIt ended after 1 run\. To go on: the same command with --call \S+\n$/,
    );
    expect(await statuses()).toEqual(["sleeping", "sleeping", "cancelled"]);
    const rest = await ask("terminate", "--workflow", "nap", "--call", callIn(stderr));
    expect(rest.stdout).toBe("2 runs: 2 terminated.\n");
  });

  test("pause a workflow, show that its runs are held, and resume it", async () => {
    await deploy(1);
    expect(await ask("pause-workflow", "nap", "--reason", "their API is down", "--by", "ada")).toEqual({
      status: 0,
      stdout: "The workflow nap is paused, and holds new runs. Of its runs: 1 paused.\n",
      stderr: "1 run, 1 paused\n",
    });
    const { runId } = (await server?.client.start(napWorkflow.contract)) ?? { runId: "" };
    const [listed, shown] = [await ask("runs"), await ask("show", runId)];
    expect(listed.stdout.match(/ paused .* with its workflow$/gm)).toHaveLength(2);
    expect(shown.stdout).toContain("→ It goes on by: layover resume-workflow nap\n");
    const resumed = await ask("resume-workflow", "nap", "--json");
    expect(JSON.parse(resumed.stdout)).toMatchObject({ runs: 2, outcomes: { resumed: 2 }, mayMissStarts: false });
    expect((await ask("resume-workflow", "other")).stderr).toMatch(/^The workflow "other" is not paused\.\n/);
  });

  test("say that starts may be missed whose transaction stays open, and how to go on", async () => {
    await deploy(0);
    const connection = await database.pool.connect();
    try {
      await connection.query("begin");
      await connection.query(`select layover.start_run('{"workflow": "other", "version": 1}')`);
      const { stdout } = await ask("pause-workflow", "nap");
      expect(stdout).toMatch(
        /^The workflow nap is paused, and holds new runs\. It had no run to pause\.\nA transaction that started runs stayed open.* --call \S+\n$/,
      );
    } finally {
      await connection.query("rollback");
      connection.release();
    }
  });

  const clear = "Name one run, or say by options such as --workflow which runs are meant.";
  const apart = "--dry-run, --per-second and --call are for many runs, and here one run is named.";
  test.each([
    [["pause"], clear, "Write layover pause order/o1, or"],
    [["pause", "nap/n1", "--workflow", "nap"], clear, "Write layover pause order/o1, or"],
    [["pause", "--dry-run"], clear, "Write layover pause order/o1, or"],
    [["pause", "nap/n1", "--dry-run"], apart, "Leave them out, or write"],
    [["pause", "nap/n1", "--per-second", "5"], apart, "Leave them out, or write"],
    [["pause", "nap/n1", "--call", "0197a000-0000-7000-8000-00000000000a"], apart, "Leave them out, or write"],
  ])("say what to write where it is not clear which runs are meant: %j", async (args, told, hint) => {
    expect(await layover(args, { env: { LAYOVER_URL: "http://127.0.0.1:1", LAYOVER_KEY: key } })).toEqual({
      status: 1,
      stdout: "",
      stderr: `${told}\n${hint} layover pause --workflow order. layover pause --help says what there is.\n`,
    });
  });
});
