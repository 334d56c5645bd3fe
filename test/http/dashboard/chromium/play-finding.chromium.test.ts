/** A person who comes into the dashboard, finds a run, and reads it; or does so by the keyboard alone. */
import { describe, expect, test } from "vitest";
import { aBrowser } from "./a-browser.ts";
import { signInAt } from "./a-person.ts";
import { aSite } from "./a-site.ts";

const site = aSite();
const browser = aBrowser();
const signedIn = signInAt(site, browser);

describe("a person", () => {
  test("is led back after the sign-in, is told of a wrong key, and signs out", async () => {
    const runId = await site.anOrder("led-back");
    const page = await browser.newPage();
    await page.goto(`${site.url}/dashboard/runs/${runId}`);
    await page.getByLabel("API key").fill("lok_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This server does not accept the API key.").waitFor();
    await page.getByLabel("API key").fill(site.key("read"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "led-back" }).waitFor();
    expect(page.url()).toBe(`${site.url}/dashboard/runs/${runId}`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.goto(`${site.url}/dashboard/`);
    await page.getByLabel("API key").waitFor();
    await page.close();
  });

  test("signs in by a link that brings the key behind its #, which leaves the address", async () => {
    const page = await browser.newPage();
    await page.goto(`${site.url}/dashboard/sign-in#${site.key()}`);
    expect(page.url()).toBe(`${site.url}/dashboard/sign-in`);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await page.close();
  });

  test("filters the runs, and finds the filter in the address", async () => {
    const failed = await site.aFailedRun("filtered");
    const waiting = await site.anOrder("waits");
    const page = await signedIn();
    await page.getByLabel("Status").selectOption("failed");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("link", { name: "filtered" }).waitFor();
    expect(await page.getByRole("link", { name: "waits" }).count()).toBe(0);
    expect(new URL(page.url()).searchParams.get("status")).toBe("failed");
    await page.getByRole("link", { name: "Clear" }).click();
    for (const [label, text, name] of [
      ["Id", waiting, "waits"],
      ["Id", "filtered", "filtered"],
      ["Tags", "customer:ada", "waits"],
    ] as const) {
      await page.goto(`${site.url}/dashboard/`);
      if (label === "Tags") await page.getByText("More", { exact: true }).click();
      await page.getByLabel(label, { exact: true }).fill(text);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\?/);
      await page.getByRole("link", { name }).first().waitFor();
    }
    await page.goto(`${site.url}/dashboard/?version=1`);
    await page.getByText("A version is given, and no workflow.").waitFor();
    await page.goto(`${site.url}/dashboard/?before=2020-01-01T00:00:00`);
    await page.getByText("There is no such run.").waitFor();
    await page.goto(`${site.url}/dashboard/runs/${failed}`);
    await page.getByText("because of").first().waitFor();
    await page.close();
  });

  test("sees a value in full that is too long for its run's page", async () => {
    const long = "x".repeat(9_000);
    const runId = await site.aFailedRun("long", long);
    const page = await signedIn();
    await page.goto(`${site.url}/dashboard/runs/${runId}`);
    await page
      .locator("#values")
      .getByRole("link", { name: /Show all/ })
      .click();
    await page.getByText(long).waitFor();
    await page.close();
  });

  test("does all of it by the keyboard alone", async () => {
    const runId = await site.anOrder("by keys");
    const page = await browser.newPage();
    const focusOn = async (isThere: (element: Element) => boolean) => {
      for (let tabs = 0; tabs < 80; tabs += 1) {
        await page.keyboard.press("Tab");
        const handle = await page.evaluateHandle(() => document.activeElement ?? document.body);
        if (await handle.evaluate(isThere)) return;
      }
      throw new Error("the keyboard does not come there");
    };
    await page.goto(`${site.url}/dashboard/`);
    await focusOn((element) => element.id === "key");
    await page.keyboard.insertText(site.key());
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await focusOn((element) => element.textContent?.includes("by keys") === true);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/runs/${runId}`);
    await focusOn((element) => element.textContent === "Pause");
    await page.keyboard.press("Enter");
    await focusOn((element) => element.id === "pause-reason");
    await page.keyboard.insertText("no mouse");
    await page.keyboard.press("Enter");
    await page.getByText("The run is paused.").waitFor();
    await focusOn((element) => element.tagName === "SUMMARY" && element.textContent?.includes("charge") === true);
    await page.keyboard.press("Enter");
    await page.getByText("1, a step").waitFor();
    await page.close();
  });
});
