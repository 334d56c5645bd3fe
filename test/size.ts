/**
 * How much of what is more of the same the tests play. `TEST_SIZE=whole npm test` plays all of it; test/README.md says
 * what the short size leaves out.
 */
const size = process.env["TEST_SIZE"] ?? "short";
if (size !== "short" && size !== "whole") throw new Error(`TEST_SIZE is "short" or "whole", not "${size}".`);

export const isWhole = size === "whole";
