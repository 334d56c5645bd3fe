/** What the pages show, without a browser. */
import { describe, expect, it } from "vitest";
import { encode } from "../../../src/core/codec/codec.ts";
import { StepError } from "../../../src/core/contract/user-errors.ts";
import { carryOut } from "../../client/a-client.ts";
import { testDatabase } from "../../postgres/database.ts";
import { aKey, anything, bare, order } from "../an-app.ts";
import { aDashboard, aReadersKey, type DashboardApp } from "./a-dashboard.ts";

const database = testDatabase();

async function shown(dashboard: DashboardApp, path: string, key = aKey()): Promise<string> {
  const response = await dashboard.open(await dashboard.signIn(key), path);
  expect(response.status).toBe(200);
  return await response.text();
}

describe("the list of runs", () => {
  it("says how many runs there are, up to a thousand, and asks two statements at most", async () => {
    const dashboard = aDashboard(database.query);
    const { client, statements } = dashboard;
    for (let number = 1; number <= 3; number += 1) await client.start(anything, number);
    expect(await shown(dashboard, "?workflow=anything")).toContain("<strong>3 runs</strong> of this filter");
    await database.pool.query(
      `insert into layover.run (id, namespace, workflow, version, input, is_input_parsed, created_at)
         select (lpad(to_hex(1700000000000 + n), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid, 'test', 'many', 1, '0null', true, now()
           from generate_series(1, 5000) as n`,
    );
    await database.pool.query(
      `insert into layover.run_state (run_id, namespace, status, last_record_at)
         select id, 'test', 'parked', now() from layover.run where workflow = 'many'`,
    );
    const before = statements.length;
    const page = await shown(dashboard, "?workflow=many");
    expect(page).toContain("<strong>1,000+ runs</strong>");
    expect(page.match(/<li>/g)).toHaveLength(50);
    expect(statements.length - before).toBe(2);
    const further = await shown(dashboard, "?workflow=many&status=failed");
    expect(further).toContain("<strong>0 runs</strong>"); // the failed ones have an index of their own
    const looked = await shown(dashboard, "?workflow=many&version=2");
    expect(looked).toContain("at least 0");
    expect(looked).toMatch(/has looked at runs back to <time datetime="2023-11-14T22:13:2[\d.:]+Z"/);
    expect(looked).toContain("Look further back");
  });

  it("goes on from page to page with the same filter", async () => {
    const dashboard = aDashboard(database.query);
    const first = await shown(dashboard, "?workflow=many");
    const [, older = ""] = /href="(\?[^"]*cursor[^"]*)">Older/.exec(first) ?? [];
    const second = await shown(dashboard, older.replaceAll("&amp;", "&"));
    const ids = (page: string): readonly string[] => page.match(/runs\/[0-9a-f-]{36}/g) ?? [];
    expect(ids(second)).toHaveLength(50);
    expect(ids(second).filter((id) => ids(first).includes(id))).toEqual([]);
    expect(second).toContain('value="many"');
  });

  it("finds an id in every workflow that is known here, and in the one that is named", async () => {
    const dashboard = aDashboard(database.query);
    const { runId } = await dashboard.client.start(order, { id: "x" }, { id: "found" });
    for (const query of ["id=found", "id=found&workflow=order", `id=${runId}`, `id=${runId.toUpperCase()}`]) {
      expect(await shown(dashboard, `?${query}`)).toContain(`runs/${runId}"`);
    }
    expect(await shown(dashboard, "?id=found&workflow=bare")).toContain("There is no such run.");
  });
});

describe("what a run says of itself", () => {
  it("is shown as JSON, whatever its keys, in the list and on the run's page, and is news", async () => {
    const dashboard = aDashboard(database.query);
    const { client, open, signIn } = dashboard;
    const cookie = await signIn();
    const { runId } = await client.start(bare);
    const say = async (status: unknown) =>
      await database.pool.query("update layover.run_state set custom_status = $2 where run_id = $1", [
        runId,
        encode(status),
      ]);
    const news: unknown[] = [];
    for (const [status, text] of [
      [{ toString: 1 }, "{&quot;toString&quot;:1}"],
      [{ done: 3 }, "{&quot;done&quot;:3}"],
      [{ done: 4 }, "{&quot;done&quot;:4}"],
      ["on its way", "on its way"],
    ] as const) {
      await say(status);
      for (const path of ["?workflow=bare", `runs/${runId}`]) {
        const page = await open(cookie, path);
        expect([path, page.status]).toEqual([path, 200]);
        expect(await page.text()).toContain(text);
        news.push(page.headers.get("x-layover-news"));
      }
    }
    expect(new Set(news).size).toBe(8);
  });
});

describe("the page of a run", () => {
  it("draws its timeline to scale, with branches inside their scope", async () => {
    const dashboard = aDashboard(database.query);
    const { client, calls } = dashboard;
    const { runId } = await client.start(bare);
    await carryOut(calls, { runId, workflow: "bare" }, { waitsFor: [{ kind: "callback", path: "ask" }] });
    for (const [position, path, from, to] of [
      [1, "first", 0, 10],
      [2, "ship[0]/pack", 10, 20],
      [3, "ship[0]/send", 20, 40],
      [4, "ship[1]/send", 10, 20],
    ]) {
      await database.pool.query(
        `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, began_at, recorded_at, value)
           select id, 0, $2, 'step', $3, 1, false, created_at + $4 * interval '1 s', created_at + $5 * interval '1 s', '1"fine"'
             from layover.run where id = $1`,
        [runId, position, path, from, to],
      );
    }
    await database.pool.query(
      `update layover.run_state t set last_position = 4, ended_at = r.created_at + interval '40 s', status = 'completed', due_at = null, result = '1"ok"'
         from layover.run r where r.id = t.run_id and r.id = $1`,
      [runId],
    );
    await database.pool.query("delete from layover.pending where run_id = $1", [runId]);
    const page = await shown(dashboard, `runs/${runId}`);
    const rows = [
      ...page.matchAll(
        /class="row deep(\d)"><span class="label">([^<]*).*?<rect class="(\w+)" x="([\d.]+)".*?width="([\d.]+)"/gs,
      ),
    ];
    expect(rows.map(([, depth, label, look, x, wide]) => [depth, label, look, Number(x), Number(wide)])).toEqual([
      ["0", "first", "done", 0, 250],
      ["0", "ship[0]", "group", 250, 750],
      ["1", "pack", "done", 250, 250],
      ["1", "send", "done", 500, 500],
      ["0", "ship[1]/send", "done", 250, 250],
    ]);
    expect(page).toContain("<span>0 ms</span><span>20 s</span><span>40 s</span>");
  });

  it("shows stacks to whom has the scope admin, and to nobody else", async () => {
    const dashboard = aDashboard(database.query);
    const { client, calls } = dashboard;
    const { runId } = await client.start(bare);
    const failed = {
      name: "Error",
      message: "no",
      stack: "at secret-file.ts",
      cause: { name: "TypeError", message: "why", stack: "at other-file.ts" },
    };
    await carryOut(calls, { runId, workflow: "bare" }, { failed });
    const admin = await shown(dashboard, `runs/${runId}`);
    expect(admin).toContain("at secret-file.ts");
    expect(admin).toContain("at other-file.ts");
    const reader = await shown(dashboard, `runs/${runId}`, aReadersKey());
    expect(reader).toContain("TypeError");
    expect(reader).not.toMatch(/secret-file|other-file/);
  });

  it("shows stacks within values to whom has the scope admin, and to nobody else, on each page", async () => {
    const dashboard = aDashboard(database.query);
    const { client, calls } = dashboard;
    const declined = (file: string) =>
      new StepError({
        step: "charge",
        attempts: 1,
        cause: { name: "Error", message: "declined", stack: `at ${file}.ts`, data: { of: file } },
      });
    const settled = (file: string) => [{ status: "rejected", reason: declined(file) }];
    const { runId } = await client.start(anything, settled("input"));
    await carryOut(calls, { runId, workflow: "anything" }, { completed: settled("result") });
    await database.pool.query(
      `insert into layover.record (run_id, epoch, position, kind, path, occurrence, is_failure, recorded_at, value)
         values ($1, 0, 1, 'step', 'charge', 1, false, now(), $2)`,
      [runId, encode(settled("record"))],
    );
    await database.pool.query("update layover.run_state set last_position = 1, custom_status = $2 where run_id = $1", [
      runId,
      encode(new Error("", { cause: { name: "E", message: "", stack: "at s.ts" } })),
    ]);
    const failed = await client.start(bare);
    await carryOut(
      calls,
      { runId: failed.runId, workflow: "bare" },
      {
        failed: { name: "Error", message: "no", data: settled("data") },
      },
    );
    for (const [path, files] of [
      [`runs/${runId}`, ["s", "input", "record", "result"]],
      [`?id=${runId}&workflow=anything`, ["s"]],
      [`runs/${runId}/values/input`, ["input"]],
      [`runs/${runId}/values/result`, ["result"]],
      [`runs/${runId}/records/1`, ["record"]],
      [`runs/${failed.runId}`, ["data"]],
    ] as const) {
      const [admin, reader] = [await shown(dashboard, path), await shown(dashboard, path, aReadersKey())];
      for (const file of files) {
        expect(admin, path).toContain(`at ${file}.ts`);
        expect(reader, path).not.toContain(`at ${file}.ts`);
        expect(reader, path).toContain(file === "s" ? "cause" : `&quot;of&quot;: &quot;${file}&quot;`);
      }
    }
  });

  it("does once what a form sends twice", async () => {
    const dashboard = aDashboard(database.query);
    const { client, signIn, send } = dashboard;
    const cookie = await signIn();
    const form = await shown(dashboard, "workflows/bare");
    const [, call = ""] = /name="call" value="([\w-]+)"/.exec(form) ?? [];
    const answers = [];
    for (let times = 0; times < 2; times += 1)
      answers.push(await (await send(cookie, "workflows/bare/start", { call, version: "1" })).json());
    expect(answers[0]).toEqual({ to: `runs/${call}` });
    expect(answers[1]).toEqual(answers[0]);
    expect((await client.get(call)).workflow).toBe("bare");
    const pause = { call: "01a1f975-5531-7046-9092-7e7c27daa9ce", reason: "once" };
    for (let times = 0; times < 2; times += 1)
      expect((await send(cookie, `runs/${call}/pause`, pause)).status).toBe(200);
    expect((await client.history(call)).operations).toHaveLength(1);
  });
});
