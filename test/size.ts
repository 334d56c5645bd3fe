/**
 * How much of what is more of the same the tests play. `TEST_SIZE=whole npm test` plays all of it; test/README.md says
 * what the short size leaves out.
 */
const size = process.env["TEST_SIZE"] ?? "short";
if (size !== "short" && size !== "whole") throw new Error(`TEST_SIZE is "short" or "whole", not "${size}".`);

export const isWhole = size === "whole";

/** How many runs sleep at once where a test is about many of them: some pages and many batches, in either size. */
export const sleepers = isWhole ? 10_000 : 2_000;

/** Draws whatever is drawn; with another one, other deaths, disasters, programs and commands. Undefined: the usual ones. */
export const testSeed = seedIn(process.env["TEST_SEED"]);

function seedIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seed = Number(text);
  if (!Number.isSafeInteger(seed) || seed < 1) throw new Error(`TEST_SEED is a number above 0, not "${text}".`);
  return seed;
}
