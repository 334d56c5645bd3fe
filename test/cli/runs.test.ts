import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import stringWidth from "string-width";
import { afterEach, describe, expect, test } from "vitest";
import type { Workflow } from "../../src/core/contract/contract.ts";
import { createApiKey, scopes } from "../../src/http/api-key.ts";
import { type NodeServer, serve } from "../../src/platform/node/index.ts";
import { testDatabase } from "../postgres/database.ts";
import { aFolder, layover, type Said, secret, secrets } from "./layover.ts";
import {
  changedOrderWorkflow,
  napWorkflow,
  orderWorkflow,
  shopNapWorkflow,
  stayWorkflow,
  stuckOrderWorkflow,
  tripWorkflow,
} from "./workflows.ts";

const key = createApiKey(secrets, { name: "test", namespace: "default", scopes });

const patience = { timeout: 20_000, interval: 50 };

describe("the commands for runs", () => {
  const database = testDatabase({ isOwn: true });
  let server: NodeServer | undefined;

  async function deploy(...workflows: readonly Workflow[]): Promise<NodeServer> {
    await server?.close();
    const onEvent = () => {};
    server = await serve({ workflows, database: database.query, secrets: [secret], port: 0, onEvent });
    return server;
  }

  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const ask = (args: readonly string[], stdin?: string): Promise<Said> =>
    layover(args, {
      env: { LAYOVER_URL: server?.url ?? "", LAYOVER_KEY: key },
      ...(stdin !== undefined && { stdin }),
    });

  const statusOf = async (runId: string) => (await server?.client.get(runId))?.status;

  test("pause a run and resume it, and show who did so and why", { timeout: 60_000 }, async () => {
    await deploy(napWorkflow);
    const { stdout } = await ask(["start", "nap", "--id", "n1"]);
    const runId = stdout.trim();
    await expect.poll(() => statusOf(runId), patience).toBe("sleeping");
    expect(await ask(["pause", "nap/n1", "--reason", "their API is down", "--by", "ada"])).toEqual({
      status: 0,
      stdout: "Paused. Steps that are under way still end.\n",
      stderr: "",
    });
    const shown = (await ask(["show", "nap/n1"])).stdout;
    expect(shown).toMatch(/^nap@1 paused$/m);
    expect(shown).toMatch(new RegExp(`^paused .*\\n +→ It goes on by: layover resume ${runId}$`, "m"));
    expect(shown).toMatch(/ ● +pause by ada +their API is down$/m);
    expect(JSON.parse((await ask(["resume", runId, "--json"])).stdout)).toEqual({ runId, outcome: "resumed" });
    expect(await statusOf(runId)).toBe("sleeping");
    const again = await ask(["resume", runId, "--by", "bob"]);
    expect(again).toEqual({
      status: 1,
      stdout: "",
      stderr: `The run ${runId} is sleeping, so it cannot be resumed.\nOnly a paused run can be resumed. Nothing is left to do.\n`,
    });
    expect((await ask(["show", runId])).stdout).toMatch(/ ● +resume by bob +refused, since it did not apply$/m);
    expect((await ask(["terminate", runId, "--by", "ada", "--reason", "a test"])).stdout).toBe(
      "Terminated. The run is cancelled.\n",
    );
    const ended = (await ask(["show", runId])).stdout;
    expect(ended).toMatch(/^nap@1 cancelled$/m);
    expect(ended).toMatch(/^error +CancelledError: terminated by ada: a test$/m);
  });

  test("cancel a run, and show who did so and why", { timeout: 60_000 }, async () => {
    await deploy(napWorkflow);
    const runId = (await ask(["start", "nap", "--id", "n1"])).stdout.trim();
    await expect.poll(() => statusOf(runId), patience).toBe("sleeping");
    expect(await ask(["cancel", "nap/n1", "--reason", "ordered twice", "--by", "ada"])).toEqual({
      status: 0,
      stdout: "It cleans up, undoes what it did, and is cancelled then.\n",
      stderr: "",
    });
    await expect.poll(() => statusOf(runId), patience).toBe("cancelled");
    const shown = (await ask(["show", runId])).stdout;
    expect(shown).toMatch(/^nap@1 cancelled$/m);
    expect(shown).toMatch(/ ● +cancel by ada +ordered twice$/m);
    expect(shown).toMatch(/ – +closing +CancelledError: the run was cancelled: ordered twice$/m);
    expect(shown).toMatch(/^error +CancelledError: the run was cancelled: ordered twice$/m);
    expect(await ask(["cancel", runId])).toEqual({
      status: 1,
      stdout: "",
      stderr: `The run ${runId} is cancelled, so it cannot be cancelled.\nIt has ended, or is about to end: it cleans up after its timeout, or undoes what it did. Terminate it if it does not end.\n`,
    });
    const delayed = (await ask(["start", "nap", "--delay", "1h"])).stdout.trim();
    expect((await ask(["cancel", delayed])).stdout).toBe("Cancelled. It had done nothing yet.\n");
  });

  test("delete a run that is over, once that is meant", { timeout: 60_000 }, async () => {
    await deploy(napWorkflow);
    const runId = (await ask(["start", "nap", "--id", "n1"])).stdout.trim();
    expect(await ask(["delete", "nap/n1", "--yes"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/so it cannot be deleted\.\nOnly a run that is over can be deleted\./),
    });
    await server?.client.terminate(runId);
    expect(await ask(["delete", "nap/n1"])).toEqual({
      status: 1,
      stdout: "",
      stderr: `The run ${runId} of nap@1 is cancelled. It would be deleted, with all that is kept of it.\nNothing was changed. If that is meant: layover delete ${runId} --yes\n`,
    });
    expect(await statusOf(runId)).toBe("cancelled");
    const args = ["delete", "nap/n1", "--yes", "--reason", "a wish", "--by", "ada"];
    expect(await ask(args)).toEqual({ status: 0, stdout: "Deleted. Nothing of the run is left.\n", stderr: "" });
    const again = await ask(["delete", runId, "--yes", "--json"]);
    expect(JSON.parse(again.stdout)).toEqual({ runId, outcome: "deleted" });
    expect(await ask(["show", runId])).toMatchObject({ status: 1, stderr: expect.stringContaining("There is no run") });
  });

  test("start a run, list it, show it at every stage, and send it what it waits for", { timeout: 60_000 }, async () => {
    await deploy(orderWorkflow, napWorkflow);
    const started = await ask(["start", "order", "--input", '{"amount": 42}', "--id", "o1", "--tag", "customer:c1"]);
    const runId = started.stdout.trim();
    expect(started).toEqual({
      status: 0,
      stdout: `${runId}\n`,
      stderr: `Started order@1. Look at it: layover show ${runId}\n`,
    });
    await expect.poll(() => statusOf(runId), patience).toBe("waiting");
    const [again, failed, delayed] = await Promise.all([
      ask(["start", "order", "--input", "-", "--id", "o1"], '{"amount": 42}'),
      ask(["start", "order", "--input", '{"amount": 4200}', "--id", "o2", "--wait", "20s"]),
      ask(["start", "nap", "--delay", "5m", "--json"]),
    ]);
    expect(again).toMatchObject({
      status: 0,
      stdout: `${runId}\n`,
      stderr: expect.stringMatching(/^It was there already: order@1\./),
    });
    expect(failed).toMatchObject({ status: 1, stdout: "" });
    expect(failed.stderr).toMatch(
      /^The run failed: StepError: step "limit" failed after 1 attempt: Error: too much for this customer\nLook at it: layover show \S+\n$/,
    );
    expect(JSON.parse(delayed.stdout)).toMatchObject({ workflow: "nap", version: 1, isNew: true });

    const [all, tagged, named, waiting, json, failure, sleeping] = await Promise.all([
      ask(["runs"]),
      ask(["runs", "--tag", "customer:c1", "--workflow", "order", "--status", "waiting"]),
      ask(["runs", "--limit", "1", "--json", "--workflow", "order", "--version", "1", "--created-from", "2026-01-01"]),
      ask(["show", "order/o1"]),
      ask(["show", runId, "--json"]),
      ask(["show", "order/o2"]),
      ask(["show", String(JSON.parse(delayed.stdout).runId)]),
    ]);
    expect(all.stdout.split("\n")[0]).toMatch(/^RUN +WORKFLOW +ID +STATUS +AGE$/);
    expect(all.stdout).toMatch(/ nap@1 +sleeping +\S.* in 4 min/);
    expect(all.stdout).toMatch(/ order@1 +o2 +failed .* StepError: step "limit"/);
    for (const line of all.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
    expect(tagged.stdout.match(/^[0-9a-f]{8} /gm)).toEqual([`${runId.slice(-8)} `]);
    expect(JSON.parse(named.stdout)).toMatchObject({ runs: [{ version: 1 }], cursor: expect.any(String) });

    expect(waiting.stdout).toMatch(
      /^order@1 waiting\nid +o1\nrun +\S+\ntags +customer:c1\nstarted +.*\ninput +\{"amount":42\}\n\n/,
    );
    expect(waiting.stdout).toMatch(/✗ {2}attempt 1 of charge .* Error: the card was declined, because Error: 402/);
    expect(waiting.stdout).toMatch(/✓ {2}step charge .* after 2 attempts: \{"id":"ch_1"\}/);
    expect(waiting.stdout).toMatch(/\nnow +… {2}wait address +for the signal "address", until \d{4}-/);
    expect(waiting.stdout).toMatch(/\(in 2\s+days 23\s+h\)/);
    expect(JSON.parse(json.stdout)).toMatchObject({
      runId,
      status: "waiting",
      history: { attempts: [{ path: "charge", number: 1 }], pending: [{ signal: "address" }] },
    });
    expect(failure.stdout).toMatch(/^order@1 failed\n/);
    expect(failure.stdout).toMatch(/✓ {2}step charge .*\n.*✗ {2}attempt 1 of limit .*\n.*✗ {2}step limit /);
    expect(failure.stdout).toMatch(
      /\nerror +StepError: step "limit" failed after 1 attempt: Error: too much for this\s+customer\n/,
    );
    expect(sleeping.stdout).toMatch(/^nap@1 sleeping\n(.+\n)+\nNothing has happened yet\.\n$/);

    const once = ["signal", "order/o1", "address", "--payload", '{"city": "Turin"}', "--dedupe-id", "d1"];
    expect(await ask(once)).toEqual({ status: 0, stdout: "Sent.\n", stderr: "" });
    await expect.poll(() => statusOf(runId), patience).toBe("completed");
    expect(await ask(["start", "order", "--input", '{"amount": 42}', "--id", "o1", "--wait", "1s"])).toMatchObject({
      status: 0,
    });
  });

  test("start a run with a signal, and send it to the run that is there", { timeout: 60_000 }, async () => {
    await deploy(orderWorkflow);
    const send = (...more: readonly string[]) =>
      ask(["start", "order", "--id", "o1", "--signal", "address", "--payload", '{"city": "Turin"}', ...more]);
    const first = await send("--input", '{"amount": 42}', "--dedupe-id", "d");
    const runId = first.stdout.trim();
    expect(first).toEqual({
      status: 0,
      stdout: `${runId}\n`,
      stderr: `Started order@1. The signal was sent. Look at it: layover show ${runId}\n`,
    });
    const again = await send("--input", '{"amount": 1}', "--dedupe-id", "d", "--wait", "20s");
    expect(again).toMatchObject({ status: 0 });
    expect(await statusOf(runId)).toBe("completed");
    expect(await send("--input", '{"amount": 1}')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`The run ${runId} is over (completed), so it takes no signal.`),
    });
    const third = await send("--input", '{"amount": 1}', "--dedupe-id", "d");
    expect(third.stderr).toMatch(/^It was there already: order\. The signal was sent before\. /);
    const wrong = [
      [["start", "order", "--signal", "address"], /^--signal needs --id/],
      [["start", "order", "--payload", "1"], /^--payload is part of a signal, and there is no --signal/],
      [["start", "order", "--dedupe-id", "d"], /^--dedupe-id is part of a signal/],
    ] as const;
    for (const [args, stderr] of wrong) {
      expect(await ask(args)).toMatchObject({ status: 1, stderr: expect.stringMatching(stderr) });
    }
  });

  test("name a run by the end of its id, which is all that a terminal of 80 columns has room for", async () => {
    const { url, client } = await deploy(napWorkflow);
    expect((await ask(["runs"])).stdout).toBe("There is no run yet. Start one: layover start WORKFLOW\n");
    const { runId } = await client.start(napWorkflow.contract, undefined, { id: "注文番号の長い名前".repeat(4) });
    const { runId: other } = await client.start(napWorkflow.contract, undefined, { delay: "1 day" });
    const env = { LAYOVER_URL: url, LAYOVER_KEY: key, COLUMNS: "80" };
    const part = runId.slice(-8);
    const [listed, filtered, shown, sent, several, none] = await Promise.all([
      layover(["runs"], { env }),
      ask(["runs", "--status", "failed"]),
      ask(["show", part.toUpperCase()]),
      ask(["signal", part, "wake", "--payload", "null"]),
      ask(["show", runId.slice(0, 4)]),
      ask(["show", "0000ffff0000"]),
    ]);
    const lines = listed.stdout.trimEnd().split("\n");
    expect(lines.slice(1).map((line) => line.slice(0, 10))).toEqual([`${other.slice(-8)}  `, `${part}  `]);
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(80);
    expect(filtered.stdout).toBe("There is no such run.\n");
    expect(shown.stdout).toContain(`run        ${runId}\n`);
    expect(sent).toMatchObject({ status: 0, stdout: "Sent.\n" });
    expect(several.stderr).toMatch(
      /^Several runs have an id with "[0-9a-f]{4}" in it: .*\nGive more of its digits\.\n$/,
    );
    expect(none.stderr).toMatch(/^No run has an id with "0000ffff0000" in it\.\n/);
  });

  test("find the key of a development server in its folder, for a local deployment alone", async () => {
    const { url } = await deploy(napWorkflow);
    const folder = aFolder();
    mkdirSync(join(folder, ".layover/data"), { recursive: true });
    writeFileSync(join(folder, ".layover/data/api-key"), `${key}\n`);
    const [local, far] = await Promise.all([
      layover(["runs"], { folder, env: { LAYOVER_URL: url } }),
      layover(["runs"], { folder, env: { LAYOVER_URL: "https://example.com" } }),
    ]);
    expect(local).toMatchObject({ status: 0, stderr: "" });
    const stale = await layover(["runs"], { folder, env: { LAYOVER_URL: url, LAYOVER_KEY: `${key}x` } });
    expect(stale.status).toBe(0);
    expect(stale.stderr).toMatch(/^LAYOVER_KEY does not count there\. The key of layover dev in this folder is tried/);
    const { stdout } = await layover(["doctor"], { folder, env: { LAYOVER_URL: url } });
    expect(stdout).toContain("LAYOVER_SECRET is not set. layover dev has one of its own.");
    expect(far.stderr).toContain("LAYOVER_KEY is not set, and https://example.com wants an API key.");
  });

  test("find a run by names with slashes in them, wherever the workflow's ends", async () => {
    await deploy(napWorkflow, shopNapWorkflow);
    await server?.client.start(shopNapWorkflow.contract, undefined, { id: "a/1" });
    const send = ["signal", "shop/nap/a/1", "wake", "--payload", "null"];
    const [shown, sent, unknown, empty] = await Promise.all([
      ask(["show", "shop/nap/a/1"]),
      ask(send),
      ask(["show", "shop/nap/a/2"]),
      ask(["show", "nap/"]),
    ]);
    expect(shown.stdout).toMatch(/^shop\/nap@1 .*\nid +a\/1\n/);
    expect(sent).toEqual({ status: 0, stdout: "Sent.\n", stderr: "" });
    expect(unknown.stderr).toMatch(/^Workflow "shop\/nap" has no run with the id "a\/2"\.\n/);
    expect(empty.stderr).toMatch(/^There is no run "nap\/": /);
  });

  test("say of a blocked run why, and what to do", { timeout: 60_000 }, async () => {
    await deploy(orderWorkflow);
    const { stdout } = await ask(["start", "order", "--input", '{"amount": 1}', "--id", "o1"]);
    await expect.poll(() => statusOf(stdout.trim()), patience).toBe("waiting");
    await deploy(changedOrderWorkflow);
    await ask(["signal", stdout.trim(), "address", "--payload", '{"city": "Turin"}']);
    await expect.poll(() => statusOf(stdout.trim()), patience).toBe("blocked");
    const [shown, listed] = await Promise.all([ask(["show", "order/o1"]), ask(["runs", "--status", "blocked"])]);
    expect(shown.stdout).toMatch(/^order@1 blocked\n/);
    expect(shown.stdout).toMatch(
      /\nblocked +the history holds step charge at position 1, .*\n.*\n +→ Deploy the code that fits this history/,
    );
    expect(shown.stdout).toMatch(/\nrefused +by the deployment [0-9a-f]{16}, at /);
    expect(listed.stdout).toMatch(/ blocked +\S/);
  });

  test("say of a run that is held up why, and when it is tried again", { timeout: 60_000 }, async () => {
    await deploy(stuckOrderWorkflow);
    const { stdout } = await ask(["start", "order", "--input", '{"amount": 1}', "--id", "o1"]);
    await expect.poll(() => statusOf(stdout.trim()), patience).toBe("retrying");
    const [shown, listed] = await Promise.all([ask(["show", "order/o1"]), ask(["runs", "--status", "retrying"])]);
    expect(shown.stdout).toMatch(/^order@1 retrying\n/);
    expect(shown.stdout).toMatch(
      /\nheld up +the handler awaits something at its beginning that is no step.*\n(.*\n)* +→ tried again at .*, held up since /,
    );
    expect(listed.stdout).toMatch(/ retrying +\S+ \S+ +the handler awaits/);
  });

  test("say of a run that failed what was not undone, and what to do", { timeout: 60_000 }, async () => {
    await deploy(tripWorkflow);
    const { stdout } = await ask(["start", "trip", "--id", "t1", "--wait", "20s", "--json"]);
    const failed = [{ step: "hotel", error: { message: "the hotel is closed" } }];
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", error: { data: { compensation: { failed } } } });
    const [shown, listed] = await Promise.all([ask(["show", "trip/t1"]), ask(["runs", "--status", "failed"])]);
    expect(shown.stdout).toMatch(/^trip@1 failed\n/);
    expect(shown.stdout).toMatch(/\nundone +1 of 2 undos succeeded, and 1 failed for good\n/);
    expect(shown.stdout).toMatch(
      /\nerror +Error: there is no car\nundo +hotel is not undone: Error: the hotel is closed\n +→ By layover retry \S+ they are tried again\. .*by hand\.\n/,
    );
    expect(shown.stdout).toMatch(
      / ✗ +undo hotel .*failed for good: .*the hotel is closed\n.* ✓ +undo flight .*"free"$/m,
    );
    expect(listed.stdout).toMatch(/ Error: there is no car; 1 undo failed$/m);
    expect((await ask(["runs", "--status", "compensating"])).stdout).toBe("There is no such run.\n");
  });

  test("show a run that is being undone, pause it, and end it at once, but do not cancel it", {
    timeout: 60_000,
  }, async () => {
    await deploy(stayWorkflow);
    const runId = (await ask(["start", "stay"])).stdout.trim();
    await expect.poll(async () => (await server?.client.history(runId))?.attemptCount, patience).toBeGreaterThan(0);
    const [shown, listed, waited] = await Promise.all([
      ask(["show", runId]),
      ask(["runs", "--status", "compensating"]),
      ask(["start", "stay", "--wait", "1s"]),
    ]);
    const screen = shown.stdout.replaceAll(/\n {20,}/g, " "); // without the breaks of long lines
    expect(screen).toMatch(/^stay@1 compensating\n(.*\n)*undone +0 of 1 undos have ended\n/);
    expect(screen).toMatch(/ – +ending +as failed, after 1 undo: Error: there is no flight\n/);
    expect(screen).toMatch(/ ✗ +attempt 1 of the undo of hotel .*Error: the hotel is closed\n/);
    expect(screen).toMatch(/ … +undo hotel +(is tried again|is ready).*, \d+ attempts? failed$/m);
    expect(listed.stdout).toMatch(/ compensating +\d+ \w+ +0 of 1 undos have ended$/m);
    expect(waited).toMatchObject({ status: 1, stderr: expect.stringContaining("it is compensating.") });

    expect((await ask(["cancel", runId])).stderr).toBe(
      `The run ${runId} is compensating, so it cannot be cancelled.\nIt has ended, or is about to end: it cleans up after its timeout, or undoes what it did. Terminate it if it does not end.\n`,
    );
    expect((await ask(["pause", runId])).stdout).toBe("Paused. Steps that are under way still end.\n");
    expect((await ask(["show", runId])).stdout).toMatch(/^stay@1 paused$/m);
    expect((await ask(["resume", runId])).stdout).toBe("Resumed.\n");
    expect((await ask(["terminate", runId])).stdout).toBe("Terminated. The run is cancelled.\n");
    expect((await ask(["show", runId])).stdout).toMatch(
      /^stay@1 cancelled\n(.*\n)*undone +0 of 1 undos have ended\n(.*\n)*error +CancelledError: .*\n +→ No undo is tried again\./,
    );
  });

  test("say what is wrong, and what to do", { timeout: 60_000 }, async () => {
    const { url } = await deploy(orderWorkflow);
    const file = join(aFolder(), "input.json");
    writeFileSync(file, "{amount: 42}");
    const unknown = "01a1f975-5531-7046-9092-7e7c27daa9ce";
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["start", "ordre"], 'There is no workflow "ordre" here.\nThe workflows here are "order".\n'],
      [["start", "order", "--version", "7"], 'Workflow "order" has no version 7 here.\n'],
      [["start", "order", "--input", "{}"], 'The input of workflow "order" does not fit its schema: amount: '],
      [["start", "order", "--input", `@${file}`], `The file ${file} is not JSON: `],
      [["start", "order", "--input", "@nowhere.json"], "The file nowhere.json cannot be read: ENOENT"],
      [["start", "order", "--delay", "soon"], '"soon" is not a duration.\n'],
      [["start", "order", "--tag", "c1"], 'The tag "c1" is not NAME:VALUE.\nWrite --tag customer:c1\n'],
      [
        ["show", "o1"],
        'There is no run "o1": our id of a run is a uuid.\nName it by our id or the part of it that layover runs shows, or by your own id and its workflow: WORKFLOW/o1\n',
      ],
      [["show", "order/o9"], 'Workflow "order" has no run with the id "o9".\n'],
      [["signal", unknown, "address"], `There is no run "${unknown}".\n`],
      [
        ["runs", "--status", "sleepy"],
        "Option '--status <status>' argument 'sleepy' is invalid. Allowed choices are queued, ",
      ],
      [["runs", "--limit", "many"], '"many" is not a whole number.\n'],
      [["run"], "Unknown command 'run'.\nDid you mean "],
      [["start"], "Missing required argument 'workflow'.\nlayover start --help says what there is.\n"],
    ];
    const said = await Promise.all(cases.map(([args]) => ask(args)));
    for (const [index, [, expected]] of cases.entries()) {
      expect(said[index]).toMatchObject({ status: 1, stdout: "" });
      expect(said[index]?.stderr).toContain(expected);
    }
    const wrong = [
      [
        { LAYOVER_URL: url },
        /^LAYOVER_KEY is not set, and \S+ wants an API key\.\n.* layover keys create .* into \.env or \.dev\.vars here: LAYOVER_KEY=lok_…/,
      ],
      [{ LAYOVER_URL: url, LAYOVER_KEY: "lok_x.y" }, `The deployment at ${url} does not take this LAYOVER_KEY`],
      [{ LAYOVER_URL: `${url}/api`, LAYOVER_KEY: key }, /nothing at|What answers at \S+ is not layover/],
      [{ LAYOVER_URL: "localhost", LAYOVER_KEY: key }, "The url is not one that an API can have.\n"],
    ] as const;
    const answers = await Promise.all(wrong.map(([env]) => layover(["runs"], { env })));
    for (const [index, [, expected]] of wrong.entries()) expect(answers[index]?.stderr).toMatch(expected);
    await server?.close();
    const gone = await layover(["runs"], { env: { LAYOVER_URL: url, LAYOVER_KEY: key } });
    expect(gone.stderr).toContain(`Nobody answers at ${url}: ECONNREFUSED.\nSet LAYOVER_URL`);
  });
});
