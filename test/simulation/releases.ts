/**
 * Releases of one host alone, while the others stand: to all of its processes at once, or to some of them first, so that two builds
 * live side by side. A release may be rolled back. Drawn for hosts that share a database (`--on mixed`).
 */
import fc from "fast-check";
import { minutes } from "./acts.ts";
import type { Scenario } from "./scenario.ts";

export const hostNames = ["cloudflare", "aws", "node"] as const;
export type HostName = (typeof hostNames)[number];

export interface Release {
  readonly host: HostName;
  readonly atMs: number;
  /** The version that the new build does not carry. Undefined: it carries what the host carries. */
  readonly without: number | undefined;
  /** Whether the build before it lives on beside it until the release is over. */
  readonly isGradual: boolean;
  /** How long it takes until it is over, or is rolled back. */
  readonly forMs: number;
  /** Whether the build before it comes back then, and the new one is gone. */
  readonly isRolledBack: boolean;
}

const release: fc.Arbitrary<Release> = fc.record({
  host: fc.constantFrom(...hostNames),
  atMs: minutes(80),
  without: fc.constantFrom(undefined, 1, 1, 2),
  isGradual: fc.boolean(),
  forMs: fc.oneof(fc.integer({ min: 0, max: 90_000 }), minutes(60)),
  isRolledBack: fc.boolean(),
});

/** How long after everything else the last deployment comes, on all hosts at once. It carries everything. */
const lastMs = 600_000;

/** Plays a scenario on hosts that share a database, some of which are released alone meanwhile. */
export function withReleases(scenarios: fc.Arbitrary<Scenario>): fc.Arbitrary<Scenario> {
  return fc.tuple(scenarios, fc.array(release, { maxLength: 3 })).map(([drawn, releases]) => {
    const lastAt = Math.max(0, ...drawn.deployments.map(({ atMs }) => atMs));
    const overAt = Math.max(lastAt, ...releases.map(({ atMs, forMs }) => atMs + forMs));
    const last = { atMs: overAt + lastMs, without: undefined, graceMs: 10_000 };
    const deployments = releases.length === 0 ? drawn.deployments : [...drawn.deployments, last];
    return { ...drawn, platform: "mixed", releases, deployments };
  });
}

export function releaseInWords({ host, without, isGradual, forMs, isRolledBack }: Release): string {
  const build = without === undefined ? "" : ` without version ${without}`;
  const end = isRolledBack ? `rolled back after ${forMs / 1_000} s` : `over after ${forMs / 1_000} s`;
  return `a release of ${host}${build}, ${isGradual ? "to some of its processes first" : "to all of it at once"}, ${end}`;
}
