/** The page behind a callback's URL, for the person who answers. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import { workflow } from "../../src/core/contract/contract.ts";
import type { Schema } from "../../src/core/contract/schema.ts";
import { carryOut, sealCallback } from "../client/a-client.ts";
import { testDatabase } from "../postgres/database.ts";
import { anApp, form } from "./an-app.ts";

describe("the approver's page", () => {
  const database = testDatabase();

  async function aPage(schema: Schema, question: { title?: string; text?: string } = {}) {
    const asks = workflow({ name: "asks", version: 1, callbacks: { approval: schema } });
    const test = anApp(database.query, { contracts: [asks] });
    const { runId } = await test.client.start(asks);
    const waitsFor = [{ kind: "callback" as const, path: "ask" }];
    await carryOut(test.calls, { runId, workflow: "asks" }, { waitsFor });
    const place = { runId, epoch: 0, path: "ask", occurrence: 0 };
    const { token } = sealCallback({ ...place, workflow: "asks", version: 1, name: "approval", ...question });
    const path = `/callbacks/${token}`;
    const read = async (response: Response) => ({ status: response.status, page: await response.text() });
    return {
      open: async () => (await read(await test.app.request(path))).page,
      /** Sends the page's form as a browser does. */
      send: async (fields: Record<string, string>) =>
        await read(await test.app.request(path, form({ "layover-form": "1", ...fields }))),
      answer: async () =>
        (await database.pool.query("select value from layover.callback where run_id = $1", [runId])).rows[0]?.value,
    };
  }

  const schemas: [string, Schema][] = [
    ["zod", z.object({ ok: z.boolean(), reason: z.optional(z.string()) })],
    ["zod/mini", mini.object({ ok: mini.boolean(), reason: mini.optional(mini.string()) })],
  ];

  it.each(schemas)("asks a yes or no of %s by two buttons, and what else there is by inputs", async (_, schema) => {
    const { open, send, answer } = await aPage(schema);
    const page = await open();
    expect(page).toMatch(
      /<button class="primary" name="answer.ok" value="true">Yes<\/button>\s+<button name="answer.ok" value="false">No/,
    );
    expect(page).toMatch(/<label for="answer.reason">Reason <span class="quiet">\(optional\)/);
    expect(page).not.toContain("JSON");
    expect(await send({ "answer.reason": "" })).toMatchObject({
      status: 422,
      page: expect.stringContaining("Choose yes or no."),
    });
    const sent = await send({ "answer.ok": "false", "answer.reason": "" });
    expect([sent.status, await answer()]).toEqual([200, '1{"ok":false}']);
    expect(await open()).toContain("“approval” was answered.");
  });

  it("does nothing where Enter is pressed in a text: the form's first button is disabled", async () => {
    const { open } = await aPage(z.object({ note: z.string(), ok: z.boolean() }));
    expect(/<button[^>]*>/.exec(await open())?.[0]).toBe("<button disabled hidden>");
  });

  it("asks each kind of value by an input of its kind", async () => {
    const { open, send, answer } = await aPage(
      z.object({
        size: z.enum(["small", "large"]).meta({ title: "Which size?", description: "The large one takes a week." }),
        amount: z.int().min(1).max(10),
        share: z.number().nullable(),
        day: z.iso.date(),
        at: z.iso.datetime(),
        isGift: z.boolean(),
        isFast: z.boolean().default(true),
        extra: z.array(z.string()),
      }),
    );
    const page = await open();
    for (const part of [
      "<legend>Which size?</legend>",
      "The large one takes a week.",
      'type="radio" name="answer.size" value="1" required',
      'type="number" step="1" min="1" max="10"',
      'type="date"',
      'type="datetime-local"',
      "<legend>Is gift</legend>",
      'name="answer.isFast" value="true" checked',
      "Extra, as JSON",
      "Send the answer",
    ]) {
      expect(page).toContain(part);
    }
    const { status } = await send({
      "answer.size": "1",
      "answer.amount": "3",
      "answer.share": "",
      "answer.day": "2030-01-02",
      "answer.at": "2030-01-02T03:04",
      "answer.isGift": "true",
      "answer.isFast": "false",
      "answer.extra": '["a"]',
    });
    expect([status, JSON.parse((await answer())?.slice(1) ?? "null")]).toEqual([
      200,
      {
        size: "large",
        amount: 3,
        share: null,
        day: "2030-01-02",
        at: "2030-01-02T03:04:00Z",
        isGift: true,
        isFast: false,
        extra: ["a"],
      },
    ]);
  });

  it("says at each field what is wrong, in words for a person, and keeps what was written", async () => {
    const schema = z.object({
      size: z.enum(["small", "large"]),
      amount: z.number().min(1).max(10),
      email: z.email(),
      note: z.string().min(3),
      code: z.string().refine((text) => text === "right", "this is not the code that we sent"),
      extra: z.array(z.string()),
    });
    const { send, answer } = await aPage(schema);
    const filled = { "answer.amount": "11", "answer.email": "ada", "answer.note": "<b", "answer.code": "wrong" };
    const { status, page } = await send({ ...filled, "answer.extra": "[1]" });
    expect(status).toBe(422);
    for (const sentence of [
      "Choose one.",
      "Give a number from 1 to 10.",
      "Write an email address, such as ada@example.com.",
      "Write at least 3 characters.",
      "This is not the code that we sent.",
      "[0] does not fit what is asked for.",
    ]) {
      expect(page).toContain(sentence);
    }
    expect(page).toContain('id="answer.amount-error">Give a number');
    expect(page).toContain('aria-describedby="answer.amount-error"');
    expect(page).toMatch(/name="answer.amount"[^>]*value="11"/);
    expect(page).toContain('value="&lt;b"');
    expect(page).not.toMatch(/Invalid|expected/);
    expect((await send({ ...filled, "answer.extra": "[" })).page).toContain("This is not JSON.");
    expect(await answer()).toBeUndefined();
  });

  it("takes one value that is the whole answer, and a date of zod's", async () => {
    const whole = await aPage(z.boolean());
    expect(await whole.open()).toContain('name="answer" value="true">Yes');
    expect((await whole.send({ answer: "true" })).status).toBe(200);
    expect(await whole.answer()).toBe("1true");
    const dated = await aPage(z.object({ at: z.date() }));
    expect((await dated.send({ "answer.at": "2030-01-02T03:04" })).status).toBe(200);
    expect(await dated.answer()).toContain("2030-01-02T03:04:00.000Z");
  });

  it("asks for JSON where no form can be made of the schema", async () => {
    for (const schema of [z.unknown(), z.array(z.string()), z.union([z.string(), z.number()]), z.object({})]) {
      expect(await (await aPage(schema)).open()).toContain("Your answer, as JSON");
    }
  });

  it("shows what the workflow asks, as text", async () => {
    const { open } = await aPage(z.boolean(), {
      title: "Refund 120 € to <Ada>?",
      text: "Order o1.\nShe has paid twice.",
    });
    const page = await open();
    expect(page).toContain("<h1>Refund 120 € to &lt;Ada&gt;?</h1>");
    expect(page).toContain('<p class="text">Order o1.\nShe has paid twice.</p>');
    expect(page).toContain("<title>Refund 120 € to &lt;Ada&gt;?</title>");
  });
});
