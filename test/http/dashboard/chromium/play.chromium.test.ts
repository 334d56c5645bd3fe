/** A person at the dashboard, in a real browser: every page and every button. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { aBrowser, complaintsOf, expectAccessible, expectNoSidewaysScroll } from "./a-browser.ts";
import { signInAt } from "./a-person.ts";
import { aSite, bare, order } from "./a-site.ts";

const site = aSite();
const browser = aBrowser();
const signedIn = signInAt(site, browser);

type Looks = NonNullable<Parameters<typeof browser.newPage>[0]>;

/** Opens the form of an act, fills it in and sends it. Answers what the page then says. */
async function act(
  page: Page,
  name: string,
  fill: (form: ReturnType<Page["locator"]>) => Promise<void>,
  button = name,
) {
  const details = page.locator("details", { has: page.locator("summary", { hasText: new RegExp(`^${name}$`) }) });
  await details.locator("summary").first().click();
  await fill(details);
  await details.getByRole("button", { name: button, exact: true }).click();
  const said = page.locator("#said:not(:empty)");
  await said.waitFor();
  return await said.textContent();
}

const because = (reason: string) => async (form: ReturnType<Page["locator"]>) =>
  await form.getByLabel("Why").fill(reason);
const asItIs = async () => {};

describe("a person", () => {
  test("starts a run by the form of its schema, and is told what is wrong with it", async () => {
    const page = await signedIn();
    const complaints = complaintsOf(page);
    await page.getByRole("link", { name: "Workflows" }).click();
    await page.getByRole("link", { name: "order" }).first().click();
    await page.getByLabel("Your id").fill("by hand");
    await page.getByLabel("Customer").fill("eve");
    await page.getByLabel("Amount").fill("0");
    await page.getByLabel("large").check();
    await page.getByLabel("Yes").check();
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".wrong").waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("answer.amount");
    await page.getByLabel("Amount").fill("7");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("heading", { name: "order@1 by hand" }).waitFor();
    expect(await page.locator("#values").textContent()).toContain('"amount": 7,\n  "size": "large",\n  "isGift": true');
    expect(complaints.filter((text) => !text.includes("422"))).toEqual([]); // Chromium tells of each such answer
    await page.close();
  });

  test("lets a run go on to its end: pauses, resumes, signals and answers it", async () => {
    const runId = await site.anOrder("to its end");
    const page = await signedIn();
    await page.goto(`${site.url}/dashboard/runs/${runId}`);
    expect(await act(page, "Pause", because("lunch"))).toBe("The run is paused.");
    await page.locator("#past").getByText("lunch").waitFor();
    expect(await act(page, "Resume", asItIs)).toBe("The run is resumed.");
    const city = async (form: ReturnType<Page["locator"]>) => await form.getByLabel("City").fill("Turin");
    expect(await act(page, "Signal address", city, "Send the signal")).toBe("The signal was sent.");
    await page.getByText("Answer approval").waitFor();
    const answer = async (form: ReturnType<Page["locator"]>) => {
      await form.getByLabel("Yes").check();
      await form.getByLabel("Why").fill("paid");
    };
    expect(await act(page, "Answer approval", answer, "Send the answer")).toBe("The answer was sent.");
    await page.locator("h1", { hasText: "completed" }).waitFor();
    await page.locator("#values").getByText('"ok": true').waitFor();
    await page.locator("summary.row", { hasText: "bare" }).click();
    await page.locator(".inside a").last().click();
    await page.getByRole("heading", { name: "bare@1" }).waitFor();
    await page.close();
  });

  test("rejects a callback, cancels, terminates and deletes", async () => {
    const page = await signedIn();
    const [rejected, cancelled, terminated] = [
      await site.anOrder("r"),
      await site.anOrder("c"),
      await site.anOrder("t"),
    ];
    await site.client.signal(rejected, "address", { city: "Rome" }, { contract: order });
    await page.goto(`${site.url}/dashboard/runs/${rejected}`);
    expect(await act(page, "Reject approval", because("no money"), "Reject")).toBe("The rejection was sent.");
    await page.locator("h1", { hasText: "failed" }).waitFor();
    await page.goto(`${site.url}/dashboard/runs/${cancelled}`);
    expect(await act(page, "Cancel", because("no more"))).toBe("The run is cancelling.");
    await page.goto(`${site.url}/dashboard/runs/${terminated}`);
    expect(await act(page, "Terminate", because("at once"))).toBe("The run is terminated.");
    await page.locator("h1", { hasText: "cancelled" }).waitFor();
    await page.locator("summary", { hasText: "Delete" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await expect(site.client.get(terminated)).rejects.toThrow("there is no run");
    await page.goto(`${site.url}/dashboard/runs/${terminated}`);
    await page.getByRole("heading", { name: "Nothing here" }).waitFor();
    await page.close();
  });

  test("retries, restarts from a step, tells what that would drop, and forks", async () => {
    const page = await signedIn();
    const runId = await site.aFailedRun("to repair");
    await page.goto(`${site.url}/dashboard/runs/${runId}`);
    expect(await act(page, "Retry", because("again"))).toMatch(/^The run goes on, with \d+ records? of before\.$/);
    await site.settled(runId, "failed");
    await page.reload();
    const fromBreak = async (form: ReturnType<Page["locator"]>) =>
      void (await form.getByLabel("From", { exact: true }).selectOption("break"));
    const plan = await act(page, "Restart", fromBreak, "Only tell what it would drop");
    expect(plan).toBe("A restart would keep 1 record and drop 1. Nothing was done.");
    expect(await act(page, "Restart", fromBreak)).toBe(
      "The run begins again, with 1 record of before, and without 1 later one.",
    );
    await site.settled(runId, "failed");
    await page.reload();
    await page.getByRole("link", { name: "Epoch 0" }).click();
    await page.getByText("Epoch 0").waitFor();
    await page.goto(`${site.url}/dashboard/runs/${runId}`);
    await page.locator("summary", { hasText: /^Fork$/ }).click();
    await page.getByLabel("Your id of the new run").fill("forked");
    await page.getByLabel("Another input").last().fill('"other"');
    await page.getByRole("button", { name: "Fork" }).click();
    await page.getByRole("heading", { name: "bad@1 forked" }).waitFor();
    await page.close();
  });

  test("pauses and resumes a workflow", async () => {
    const page = await signedIn();
    await page.goto(`${site.url}/dashboard/workflows/bare`);
    expect(await act(page, "Pause the workflow", because("their API is down"))).toMatch(/^The workflow is paused/);
    const { runId } = await site.client.start(bare);
    await site.settled(runId, "paused");
    expect(await act(page, "Resume the workflow", asItIs)).toMatch(/^The workflow is resumed/);
    await site.settled(runId, "completed");
    await page.close();
  });

  test("pauses, resumes and triggers a schedule, and deletes one that was made at run time", async () => {
    await site.client.schedules.create("by hand", bare, { every: "1 day" });
    const page = await signedIn();
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("link", { name: "nightly" }).click();
    expect(await act(page, "Pause", because("holidays"))).toBe("The schedule is paused.");
    await page.locator("#schedule").getByText("by ada: holidays").last().waitFor();
    expect(await act(page, "Resume", asItIs)).toBe("The schedule is resumed.");
    await page.locator("summary", { hasText: /^Trigger$/ }).click();
    await page.getByRole("button", { name: "Trigger" }).click();
    await page.getByRole("heading", { name: /^bare@1/ }).waitFor();
    await page.goto(`${site.url}/dashboard/schedules/by%20hand`);
    await page.locator("summary", { hasText: /^Delete$/ }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    expect(await page.getByRole("link", { name: "by hand" }).count()).toBe(0);
    await page.close();
  });

  test("looks at deliveries, and has one played again", async () => {
    const body = JSON.stringify("Milan");
    await fetch(`${site.url}/webhooks/shop`, { method: "POST", body, headers: { "content-type": "application/json" } });
    const page = await signedIn();
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.locator(".runs a").first().click();
    await page.getByText('"Milan"').first().waitFor();
    expect(await act(page, "Play it again", because("to see"))).toMatch(/^The delivery was played again: /);
    await page.getByText("by ada: to see").waitFor();
    await page.goto(`${site.url}/dashboard/deliveries?open=true&webhook=shop`);
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    await page.close();
  });
});

describe.each<[string, Looks]>([
  ["in the light", { colorScheme: "light", viewport: { width: 1_280, height: 800 } }],
  ["in the dark", { colorScheme: "dark", viewport: { width: 1_280, height: 800 } }],
  ["on a phone", { colorScheme: "light", viewport: { width: 360, height: 740 } }],
])("every page %s", (_, looks) => {
  test("shuts nobody out, fits its window, and complains of nothing", async () => {
    const runId = await site.anOrder(`looked at ${looks.colorScheme} ${looks.viewport?.width}`);
    const failed = await site.aFailedRun(`failed ${looks.colorScheme} ${looks.viewport?.width}`, "y".repeat(5_000));
    await fetch(`${site.url}/webhooks/shop`, {
      method: "POST",
      body: '"start"',
      headers: { "content-type": "application/json" },
    });
    const page = await browser.newPage(looks);
    const complaints = complaintsOf(page);
    await page.goto(`${site.url}/dashboard/sign-in`);
    await expectAccessible(page);
    await page.getByLabel("API key").fill(site.key());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    const { deliveries } = await (
      await fetch(`${site.url}/v1/deliveries`, { headers: { authorization: `Bearer ${site.key()}` } })
    ).json();
    for (const path of [
      "",
      "?status=failed",
      "?status=blocked",
      "workflows",
      "workflows/order",
      "schedules",
      "schedules/nightly",
      "deliveries",
      `deliveries/shop/${deliveries[0].id}`,
      `runs/${runId}`,
      `runs/${failed}`,
      `runs/${failed}/records/1`,
      `runs/${failed}/values/input`,
    ]) {
      await page.goto(`${site.url}/dashboard/${path}`);
      for (const summary of await page.locator("summary:visible").all()) await summary.click();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });
});
