/** The commands that start a run, list and show it, and send it what it waits for; and what they say of a mistake. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aDeployment, key, patience } from "./a-deployment.ts";
import { aFolder, layover } from "./layover.ts";
import { napWorkflow, orderWorkflow } from "./workflows.ts";

describe("the commands for runs", () => {
  const server = aDeployment();
  const { deploy, ask, statusOf } = server;

  test("start a run, list it, show it at every stage, and send it what it waits for", async () => {
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

  test("start a run with a signal, and send it to the run that is there", async () => {
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

  test("say what is wrong, and what to do", async () => {
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
    await server.close();
    const gone = await layover(["runs"], { env: { LAYOVER_URL: url, LAYOVER_KEY: key } });
    expect(gone.stderr).toContain(`Nobody answers at ${url}: ECONNREFUSED.\nSet LAYOVER_URL`);
  });
});
