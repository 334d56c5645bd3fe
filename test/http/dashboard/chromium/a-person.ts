/** A person who has signed in to the dashboard. */
import type { Page } from "playwright-core";
import type { aBrowser } from "./a-browser.ts";
import type { Site } from "./a-site.ts";

/** Answers what opens a page at the list of runs, of somebody who has signed in. */
export function signInAt(site: Site, browser: ReturnType<typeof aBrowser>) {
  return async function signedIn(): Promise<Page> {
    const page = await browser.newPage();
    await page.context().addCookies([await site.cookie()]);
    await page.goto(`${site.url}/dashboard/`);
    return page;
  };
}
