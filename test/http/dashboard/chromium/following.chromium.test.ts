/** A page that follows what happens, and when it stops. The browser's clock is turned by hand. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { aBrowser, complaintsOf } from "./a-browser.ts";
import { aSite, order } from "./a-site.ts";

const site = aSite();
const browser = aBrowser();

/** So far the clock is turned at once. The page asks each 2 to 15 seconds. */
const stepMs = 2_000;

async function follow(path: string): Promise<Page> {
  const page = await browser.newPage();
  await page.clock.install();
  await page.context().addCookies([await site.cookie()]);
  await page.goto(`${site.url}/dashboard/${path}`);
  await page.clock.pauseAt(Date.now() + 60_000);
  return page;
}

const told = async (page: Page) => (await page.locator("#following").textContent()) ?? "";

/** Turns the clock until the page has asked again, or has stopped. */
async function untilAsked(page: Page): Promise<void> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  page.once("requestfinished", done);
  while (!isDone && !(await told(page)).startsWith("Not")) await page.clock.runFor(stepMs);
  page.off("requestfinished", done);
}

/** The questions of pages, without what the engine itself asks. */
const asked = () =>
  site.statements().filter((name) => /get_run|get_history|list_runs|check_key|list_deliveries/.test(name));

async function expectSilence(page: Page): Promise<void> {
  asked();
  await page.clock.runFor(10 * 60_000);
  expect(asked()).toEqual([]);
}

describe("a page that follows", () => {
  test("shows what happens meanwhile, and leaves alone what somebody fills in and has opened", async () => {
    const runId = await site.anOrder("followed");
    const page = await follow(`runs/${runId}`);
    const complaints = complaintsOf(page);
    await page.locator("#row-1 > summary").click();
    await page.locator("#act-cancel > summary").click();
    await page.locator("#cancel-reason").fill("half a sen");
    await site.client.signal(runId, "address", { city: "Oslo" }, { contract: order });
    await site.settled(runId, "waiting");
    await untilAsked(page);
    await page.locator("#history").getByText("approval/announce").waitFor();
    expect(await page.locator("#row-1").getAttribute("open")).toBe("");
    expect(await page.locator("#cancel-reason").inputValue()).toBe("half a sen");
    expect(await told(page)).toBe("Following what happens.");
    expect(complaints).toEqual([]);
    await page.close();
  });

  test("stops when nothing has happened for 5 minutes, and asks nothing more until somebody wants it to", async () => {
    const runId = await site.anOrder("quiet");
    const page = await follow(`runs/${runId}`);
    for (let turns = 0; turns < 200 && !(await told(page)).startsWith("Not"); turns += 1) await untilAsked(page);
    expect(await told(page)).toBe("Not following: nothing happened for 5 minutes.");
    await expectSilence(page);
    await page.getByRole("button", { name: "Follow again" }).click();
    await page.getByText("Following what happens.").waitFor();
    expect(asked()).not.toEqual([]);
    await page.close();
  });

  test("stops when nobody has touched anything for 10 minutes, whatever happens", async () => {
    const runId = await site.anOrder("busy");
    const page = await follow(`runs/${runId}`);
    for (let turns = 0; turns < 400 && !(await told(page)).startsWith("Not"); turns += 1) {
      await site.client[turns % 2 === 0 ? "pause" : "resume"](runId);
      await untilAsked(page);
    }
    expect(await told(page)).toBe("Not following: nobody was here for 10 minutes.");
    await expectSilence(page);
    await page.close();
  });

  test("stops in a hidden tab, and goes on when the tab is shown", async () => {
    const page = await follow("");
    const turnTab = async (isHidden: boolean) =>
      await page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await turnTab(true);
    expect(await told(page)).toBe("Not following: this tab was hidden.");
    await expectSilence(page);
    await turnTab(false);
    await page.getByText("Following what happens.").waitFor();
    expect(asked()).toContain("list_runs");
    await page.close();
  });

  test("asks nothing where there is nothing to follow: the sign-in, the workflows", async () => {
    for (const path of ["sign-in", "workflows", "workflows/order"]) {
      const page = await follow(path);
      await expectSilence(page);
      await page.close();
    }
  });

  test("sends somebody whose session is over to the sign-in", async () => {
    const page = await follow("");
    await page.context().clearCookies();
    const signIn = page.getByLabel("API key");
    while ((await signIn.count()) === 0) await page.clock.runFor(stepMs);
    await page.close();
  });
});
