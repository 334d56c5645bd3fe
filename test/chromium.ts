/**
 * The Chromium in which tests play the dashboard. Where there is none, the files `*.chromium.test.ts` are left out, and
 * vitest.config.ts says so. CI sets `CHROMIUM=required`, so there they never are.
 */
import { existsSync } from "node:fs";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The file of the browser. `CHROMIUM` may name another one. Undefined: there is none. */
export function chromiumFile(given = process.env["CHROMIUM"]): string | undefined {
  const isNamed = given !== undefined && given !== "" && given !== "required";
  const found = (isNamed ? [given] : places).find((place) => existsSync(place));
  if (found !== undefined || given === undefined || given === "") return found;
  throw new Error(
    isNamed
      ? `CHROMIUM names ${given}, and there is no such file`
      : "CHROMIUM is required, and there is none: apt-get install -y chromium",
  );
}
