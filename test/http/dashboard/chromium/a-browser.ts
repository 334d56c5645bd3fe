/** A Chromium for the tests of one file, and what a test does in it. */
import AxeBuilderSource from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { chromiumFile } from "../../../chromium.ts";

/** Begins a browser before the tests of a file, and ends it after them. */
export function aBrowser(): { newPage(options?: Parameters<Browser["newPage"]>[0]): Promise<Page> } {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const executablePath = chromiumFile();
    if (executablePath === undefined) throw new Error("these tests are left out where there is no Chromium");
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => await browser?.close());
  return {
    newPage: async (options) => {
      if (browser === undefined) throw new Error("a browser begins before the tests");
      const page = await browser.newPage({ locale: "en-GB", timezoneId: "UTC", ...options });
      page.setDefaultTimeout(10_000);
      return page;
    },
  };
}

/** Fails for what shuts somebody out: too little contrast, a field without a name, a wrong role. */
export async function expectAccessible(page: Page): Promise<void> {
  // The page's CSP lets no script in, so axe runs beside it, as a debugger does.
  await page.evaluate(AxeBuilderSource.source);
  const violations = await page.evaluate(async () => {
    const axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } = Reflect.get(
      globalThis,
      "axe",
    );
    const found = await axe.run();
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  });
  expect(violations).toEqual([]);
}

/** Fails if somebody must scroll sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(content).toBeLessThanOrEqual(window ?? 0);
}

/** Tells of whatever a page complains of. A page that was refused something complains. */
export function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  return complaints;
}
