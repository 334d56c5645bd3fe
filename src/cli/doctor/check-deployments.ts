/** Says in words which deployments are alive, what each carries, and what waits for whom. */
import type { Diagnosis, WaitingVersion } from "../../postgres/wire-operator.ts";
import { fromNow } from "../times.ts";
import type { Check } from "./check.ts";

export function checkDeployments({ deployments, now }: Diagnosis): readonly Check[] {
  const about = "deployments";
  if (deployments.length === 0) {
    return [
      { about, level: "well", says: "None is alive. The first tick of one writes it down.", facts: { deployments } },
    ];
  }
  return deployments.map((deployment): Check => {
    const { name, id, versions = {}, seenAt = now, wakeAddress } = deployment;
    const carried = Object.entries(versions).flatMap(([workflow, some]) => some.map((each) => `${workflow}@${each}`));
    const seen = fromNow(new Date(seenAt), new Date(now));
    const rung = wakeAddress == null ? "" : `, rung at ${wakeAddress}`;
    const says = `${name}, build ${id}, seen ${seen}, carries ${carried.join(", ") || "no workflow"}${rung}.`;
    return { about, level: "well", says, facts: { ...deployment } };
  });
}

/**
 * Says which versions runs have that nobody carries. If several hosts are alive, it says of every version who carries it, and
 * whether the others can reach that one.
 */
export function checkVersions({ deployments, waiting = [] }: Diagnosis): readonly Check[] {
  if (deployments.length === 0) return [];
  const names = new Set(deployments.map(({ name }) => name));
  return waiting.flatMap((version) => {
    const { carriers } = version;
    if (carriers.length === 0) return [uncarried(version)];
    if (names.size === 1) return [];
    const isReached = carriers.some((carrier) =>
      deployments.some(({ name, wakeAddress }) => name === carrier && wakeAddress != null),
    );
    return [carriers.length === names.size || isReached ? carried(version) : unreached(version)];
  });
}

const about = "versions";

function uncarried(version: WaitingVersion): Check {
  return {
    about,
    level: "warning",
    says: `${subject(version)} not over, and no deployment that is alive carries ${nameOf(version)}.`,
    todo: `They wait for it. Deploy the code of ${nameOf(version)}: a version stays registered until its last run is over.`,
    facts: { ...version },
  };
}

function carried(version: WaitingVersion): Check {
  const says = `${subject(version)} not over, and ${version.carriers.join(", ")} may carry ${version.runs === 1 ? "it" : "them"} on.`;
  return { about, level: "well", says, facts: { ...version } };
}

function unreached(version: WaitingVersion): Check {
  const { carriers } = version;
  const who = carriers.join(", ");
  return {
    about,
    level: "warning",
    says: `${subject(version)} not over. Only ${who} may carry ${version.runs === 1 ? "it" : "them"} on, and the other hosts do not know where to ring there.`,
    todo: `Give ${who} its public URL (PUBLIC_URL). Otherwise what another host makes ready waits for the next tick there, up to six hours.`,
    facts: { ...version },
  };
}

/** "2 runs of order@1 are" */
function subject(version: WaitingVersion): string {
  const { runs } = version;
  return `${runs === 1 ? "1 run" : `${runs} runs`} of ${nameOf(version)} ${runs === 1 ? "is" : "are"}`;
}

function nameOf({ workflow, version }: WaitingVersion): string {
  return `${workflow}@${version}`;
}
