/** Values that would be code if a page took them for HTML. Each stands wherever somebody can store a text of their own. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { workflow } from "../../../../src/core/contract/contract.ts";
import { NonRetryableError } from "../../../../src/core/contract/user-errors.ts";
import { aBrowser, complaintsOf } from "./a-browser.ts";
import { aSite } from "./a-site.ts";

/** Fits where a name is asked for, and breaks out of an attribute, a text and a script. */
const name = `"'><img src=x onerror=hacked=1><svg onload=hacked=1>{{7*7}}\`$\{7*7}`;
const text = `${name}</script><script>hacked=1</script></textarea></pre></title><a href="javascript:hacked=1">go</a>\u2028`;

const hostile = workflow({
  name,
  version: 1,
  input: z.object({ [name]: z.string().meta({ title: text, description: text }), choice: z.enum([text, "b"]) }),
  signals: { [name]: z.object({ [name]: z.string() }) },
  callbacks: { [name]: z.object({ [name]: z.boolean() }) },
});
const hostileWorkflow = hostile.handler(async ({ step }) => {
  await step.setStatus(text);
  await step.run(name, () => ({
    [text]: text,
    link: new URL("https://example.com/?<script>"),
    error: new Error(text),
  }));
  try {
    await step.run(`fails ${name}`, failed, { retry: { maxAttempts: 2, delay: 1 } });
  } catch {
    // It goes on, to wait.
  }
  await step.scope(`scope ${name}`, async ({ step }) => {
    await step.run("inner", () => text);
    await step.run("other", () => text);
  });
  await Promise.all([step.waitForSignal(name), step.waitForCallback(name, () => {})]);
  throw failure();
});

function failed(): never {
  throw failure();
}

function failure(): Error {
  const error = new NonRetryableError(text, { cause: Object.assign(new TypeError(text), { stack: text }) });
  return Object.assign(error, { name: text, stack: text, data: { [text]: text } });
}

const site = aSite(hostileWorkflow);
const browser = aBrowser();

/** Another website on the same host: browsers send it the cookies of the dashboard, too. It answers with this page. */
let neighbour: { readonly url: string; page: string };
let server: Server;

beforeAll(async () => {
  server = createServer((_, response) => response.setHeader("content-type", "text/html").end(neighbour.page));
  server.listen(0, "localhost");
  await once(server, "listening");
  const address = server.address();
  neighbour = {
    url: `http://localhost:${typeof address === "object" ? address?.port : ""}/`,
    page: "<p>free phones</p>",
  };
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

/** What is in the page that the dashboard has not put there. */
async function strangeThings(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const strange = document.querySelectorAll(
      "img, script:not([src]), iframe, a[href^='javascript:'], svg[onload], [onerror], body a:not([href])",
    );
    return [...strange]
      .map(({ outerHTML }) => outerHTML.slice(0, 100))
      .concat("hacked" in globalThis ? ["it was run"] : []);
  });
}

test("no text of a user becomes code, on any page", async () => {
  const input = { [name]: text, choice: "b" as const };
  const tags = { [name.slice(0, 50)]: text.slice(0, 100).trim() };
  const { runId } = await site.client.start(hostile, input, { id: name, tags });
  await site.settled(runId, "waiting");
  await site.client.pause(runId, { by: name, reason: text });
  await site.client.signal(runId, name, { [name]: text }, { contract: hostile });
  const { runId: ended } = await site.client.start(hostile, input, { id: `${name}2` });
  await site.settled(ended, "waiting");
  await site.client.cancel(ended, { by: name, reason: text });
  await site.settled(ended, "cancelled", "cancelling", "waiting");
  await fetch(`${site.url}/webhooks/shop`, {
    method: "POST",
    body: JSON.stringify(text),
    headers: {
      "content-type": "application/json",
      "x-hostile": encodeURIComponent(text),
      "user-agent": `<img src=x onerror=hacked=1>`,
    },
  });
  const scheduled = name.slice(0, 90);
  await site.client.schedules.create(scheduled, hostile, { every: "1 day", input });
  await site.client.schedules.pause(scheduled, { by: name, reason: text });
  const page = await browser.newPage();
  const complaints = complaintsOf(page);
  await page.context().addCookies([await site.cookie()]);
  await page.goto(`${site.url}/dashboard/deliveries`);
  const delivery = await page.locator(".runs a").first().getAttribute("href");
  const encoded = encodeURIComponent(name);
  for (const path of [
    "",
    `?workflow=${encoded}&id=${encoded}&tag=${encodeURIComponent(`a:${text}`)}`,
    `?status=${encodeURIComponent(text)}`,
    `?cursor=${encodeURIComponent(text)}`,
    "workflows",
    `workflows/${encoded}`,
    `workflows/${encodeURIComponent(text)}`,
    "schedules",
    `schedules/${encodeURIComponent(scheduled)}`,
    "deliveries",
    `deliveries?webhook=${encodeURIComponent(text)}`,
    `deliveries/shop/${encodeURIComponent(text)}`,
    String(delivery),
    `runs/${runId}`,
    `runs/${runId}/records/1`,
    `runs/${runId}/records/2`,
    `runs/${runId}/values/input`,
    `runs/${ended}`,
    `runs/${encodeURIComponent(text)}`,
    `sign-in?to=${encodeURIComponent(text)}`,
  ]) {
    await page.goto(`${site.url}/dashboard/${path.replace(/^\.\//, "")}`);
    for (const summary of await page.locator("summary:visible").all()) await summary.click();
    expect([path, await strangeThings(page)]).toEqual([path, []]);
  }
  // The answers of buttons are texts, too.
  await page.goto(`${site.url}/dashboard/workflows/${encoded}`);
  await page.locator("#start-delay").evaluate((input: HTMLInputElement, value) => {
    input.value = value;
  }, text);
  await page.getByRole("textbox").last().fill(text);
  await page.getByRole("radio").first().check();
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator("#said:not(:empty)").waitFor();
  expect(await strangeThings(page)).toEqual([]);
  expect(complaints.filter((complaint) => !/status of (4\d\d)/.test(complaint))).toEqual([]);
  await page.close();
});

test("no other page shows the dashboard in a frame", async () => {
  const page = await browser.newPage();
  await page.context().addCookies([await site.cookie()]);
  neighbour.page = `<iframe src="${site.url}/dashboard/"></iframe>`;
  await page.goto(neighbour.url);
  const frames = page.frames().map((frame) => frame.url());
  expect(frames).toEqual([neighbour.url, "chrome-error://chromewebdata/"]);
  await page.close();
});

test("no other page moves anything in a browser in which somebody is signed in", async () => {
  const runId = await site.anOrder("attacked");
  const page = await browser.newPage();
  await page.context().addCookies([await site.cookie()]);
  await page.goto(neighbour.url);
  await page.evaluate(async (url) => {
    const body = '{"reason":"attacked"}';
    const tries: RequestInit[] = [
      { method: "POST", body, mode: "no-cors", credentials: "include", headers: { "content-type": "text/plain" } },
      { method: "POST", body, credentials: "include", headers: { "content-type": "application/json" } },
    ];
    for (const init of tries) await fetch(url, init).catch(() => {});
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: url, enctype: "text/plain", target: "_blank" });
    document.body.append(form);
    form.submit();
  }, `${site.url}/dashboard/runs/${runId}/cancel`);
  await (await page.context().waitForEvent("page")).waitForLoadState();
  const { status } = await site.client.get(runId);
  expect([status, (await site.client.history(runId)).operations]).toEqual(["waiting", []]);
  await page.context().close();
});
