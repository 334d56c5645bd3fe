/** Which deployments are alive, and which of them have refused a run. */
import type { NoteCall } from "../../src/postgres/wire-scheduler.ts";
import { isOver } from "./rules.ts";
import type { Run } from "./run.ts";
import { hour } from "./settings.ts";
import type { Deployment, World } from "./world.ts";

type Note = Pick<NoteCall, "deploymentName" | "deployment" | "note"> & Pick<Deployment, "versions" | "namespace">;

export function note(world: World, { namespace, deploymentName: name, deployment: id, note, versions }: Note): void {
  const { now, deployments } = world;
  const known = deployments.find((one) => one.namespace === namespace && one.name === name && one.id === id);
  if (note === "deployed") {
    world.deployments = deployments.filter((one) => one !== known);
    world.deployments.push({ namespace, name, id, versions, deployedAt: now, seenAt: now });
  } else if (known !== undefined) known.seenAt = note === "left" ? Number.NEGATIVE_INFINITY : now;
}

/** Answers the live deployments: of each name the two that were deployed last, as long as they tick. */
function liveIn(world: World, namespace: string): readonly Deployment[] {
  const all = world.deployments.filter((one) => one.namespace === namespace);
  const newestFirst = (one: Deployment, other: Deployment) =>
    other.deployedAt - one.deployedAt || (one.id < other.id ? -1 : 1);
  return [...Map.groupBy(all, ({ name }) => name).values()].flatMap((ofName) => {
    const lastSeenAt = Math.max(...ofName.map(({ seenAt }) => seenAt));
    return ofName
      .toSorted(newestFirst)
      .slice(0, 2)
      .filter(({ seenAt }) => seenAt > lastSeenAt - 2 * hour && seenAt > world.now - 13 * hour);
  });
}

/** Tells whether a live deployment carries the version, or none is known. */
export function isCarried(world: World, namespace: string, version: number): boolean {
  const live = liveIn(world, namespace);
  return live.length === 0 || live.some(({ versions }) => versions.includes(version));
}

/** Tells whether the deployment has refused the run, and was not deployed again since. */
export function hasRefused(world: World, { refusals, namespace }: Run, id: string | undefined): boolean {
  const at = id === undefined ? undefined : refusals.get(id);
  if (at === undefined) return false;
  return !world.deployments.some((one) => one.namespace === namespace && one.id === id && one.deployedAt > at);
}

/** Tells whether a live deployment is left that may go on with the run. */
export function hasTaker(world: World, run: Run): boolean {
  return liveIn(world, run.namespace).some(
    (one) => one.versions.includes(run.version) && !hasRefused(world, run, one.id),
  );
}

/** Notes that the code of a deployment does not fit the run. A refusal without an id speaks for all deployments. */
export function refuse(world: World, run: Run, id: string | undefined): void {
  if (isOver(run)) return;
  if (id !== undefined) run.refusals.set(id, world.now);
  run.isBlocked ||= id === undefined || !hasTaker(world, run);
}
