/** The deployments that claim and finish, and the versions of the one workflow that they carry. */
import type { Run } from "./run.ts";

/** What a deployment carries: of the one workflow, these versions. */
export const versions = { all: { order: [1, 2] }, some: { order: [1] }, nothing: {} };
export const carriedBy = {
  all: () => true,
  some: ({ version }: Run) => version === 1,
  nothing: () => false,
};
export const deployments = {
  ours: { environment: "production", endpoint: "here/app" },
  another: { environment: "production", endpoint: "there/app" },
};
