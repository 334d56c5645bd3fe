/** Runs before each test file. */
import { expect } from "vitest";

if (/[\\/]test[\\/]platform[\\/]/.test(expect.getState().testPath ?? "")) {
  const { checkWhatIsFetched } = await import("./platform/described-fetch.ts");
  checkWhatIsFetched();
}
