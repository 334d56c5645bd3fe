/**
 * Says in words what a database knows of its runs: to whom they belong, and which do not get on. It asks the database
 * nothing.
 */
import { defaultEnvironment } from "../../core/names.ts";
import { latestRingMs } from "../../core/waking.ts";
import type { Diagnosis, Trouble } from "../../postgres/wire-operator.ts";
import { clockTime, fromNow, lasting } from "../times.ts";
import type { Check } from "./check.ts";

export interface Here {
  readonly namespace: string;
  readonly environment: string;
  readonly endpoint: string;
}

const unremarkableSkewMs = 5_000;
const shownOfAKind = 5;

export function checkClock(databaseMs: number, hostMs: number): Check {
  const skew = Math.round(databaseMs - hostMs);
  const isAhead = skew > 0;
  const facts = { aheadMs: skew };
  if (Math.abs(skew) < unremarkableSkewMs) {
    return { about: "clock", level: "well", says: "The database's clock and this machine's agree.", facts };
  }
  return {
    about: "clock",
    level: "warning",
    says: `The database's clock is ${lasting(Math.abs(skew))} ${isAhead ? "ahead of" : "behind"} this machine's.`,
    todo: "Runs go by the database's. Keys and signatures are judged by the host's: have both kept by NTP.",
    facts,
  };
}

export function checkEnvironment({ environment, otherNamespaces, hasRuns }: Diagnosis, here: Here): Check {
  const about = "environment";
  const facts = { ...here, known: environment, otherNamespaces };
  const namespace = JSON.stringify(here.namespace);
  if (environment === null) {
    const isElsewhere = !hasRuns && otherNamespaces.length > 0;
    return {
      about,
      level: isElsewhere ? "warning" : "well",
      says: `Nothing was carried out in the namespace ${namespace} yet: the first deployment that does makes it its own.`,
      todo: isElsewhere
        ? `There are runs in ${otherNamespaces.join(", ")}: set LAYOVER_NAMESPACE, if they are meant.`
        : undefined,
      facts,
    };
  }
  const { name, endpoint, adoptedAt, addresses, isSameDatabase } = environment;
  const problem = (says: string, todo: string): Check => ({ about, level: "problem", says, todo, facts });
  if (name !== here.environment) {
    return problem(
      `The namespace ${namespace} belongs to the environment "${name}", but LAYOVER_ENVIRONMENT says "${here.environment}". That environment carries nothing out here.`,
      `Set LAYOVER_ENVIRONMENT to ${name}. Or give its runs to the other environment: layover adopt`,
    );
  }
  if (isSameDatabase === false) {
    return problem(
      `The namespace ${namespace} belongs to another database, and this one is a copy of it, or was restored or upgraded. Nothing is carried out here.`,
      "To carry on its runs here, and nowhere else: layover adopt",
    );
  }
  const isKnown = addresses.includes(here.endpoint);
  if (!isKnown && isSameDatabase === null) {
    return problem(
      `The namespace ${namespace} belongs to the database at ${endpoint}, but DATABASE_URL leads to ${here.endpoint}. That may be a copy, so nothing is carried out there.`,
      `If it is a copy, and its runs are to be carried on there: layover adopt. If it is the same database, use the deployment's address, or name it: layover doctor --endpoint ${endpoint}`,
    );
  }
  if (!isKnown) {
    return problem(
      `The database is the right one, and is known at ${addresses.join(", ")}. DATABASE_URL has another address, ${here.endpoint}, from which nothing is carried out.`,
      "If a deployment uses that address: layover adopt --address. If only you do, name the deployment's: layover doctor --endpoint " +
        endpoint,
    );
  }
  const says = `The namespace ${namespace} belongs to "${name}" at ${addresses.join(", ")}, since ${clockTime(new Date(adoptedAt))}.`;
  if (name === defaultEnvironment && !isLocal(endpoint)) {
    const todo =
      "Name each deployment's environment (LAYOVER_ENVIRONMENT=production), then: layover adopt. A copy of the server's files behind the same address is told apart by that name alone.";
    return { about, level: "warning", says: `${says} No environment was named.`, todo, facts };
  }
  return { about, level: "well", says, facts };
}

/** Whether the database is on one's own machine. Copies of such a database do not matter. */
function isLocal(endpoint: string): boolean {
  return /^(localhost|127\.|::1|embedded)/.test(endpoint);
}

export function checkRuns(diagnosis: Diagnosis): readonly Check[] {
  const { troubles, isCut } = diagnosis;
  if (troubles.length === 0) {
    return [{ about: "runs", level: "well", says: "None is overdue, blocked, or at work without getting on." }];
  }
  const kinds = Map.groupBy(troubles, ({ keptBy }) => keptBy);
  const checks = [...kinds.values()].flatMap((kind) => {
    const checks = kind.slice(0, shownOfAKind).map((trouble) => checkOf(trouble, diagnosis));
    const rest = kind.slice(shownOfAKind);
    return rest.length === 0 ? checks : [...checks, more(rest)];
  });
  const cut: Check = {
    about: "runs",
    level: "warning",
    says: "There are more than these 10,000 runs, which were due first.",
  };
  return isCut ? [...checks, cut] : checks;
}

/** Says which workflows are paused, so that none of their new runs begins. */
export function checkPauses({ pausedWorkflows = [], now }: Diagnosis): readonly Check[] {
  return pausedWorkflows.map((paused): Check => {
    const { workflow, since, by, reason } = paused;
    const who = `${by === null ? "" : ` by ${by}`}${reason === null ? "" : `: ${reason}`}`;
    return {
      about: "pauses",
      level: "warning",
      says: `The workflow ${workflow} was paused ${fromNow(new Date(since), new Date(now))}${who}. Its runs do not begin.`.replace(
        /\.\. /,
        ". ",
      ),
      todo: `When they may: layover resume-workflow ${workflow}`,
      facts: { ...paused },
    };
  });
}

/** Says of which runs an undo failed for good, so that what they did still stands outside. */
export function checkUndos({ halfUndone = [] }: Diagnosis): readonly Check[] {
  return halfUndone.slice(0, shownOfAKind).map((some): Check => {
    const { runs, undos, since, example } = some;
    const ended = `${countOf(runs)} of ${nameOf(some)} ${runs === 1 ? "has" : "have"} ended since ${clockTime(new Date(since))}`;
    return {
      about: "undos",
      level: "warning",
      says: `${ended}, and ${undos === 1 ? "an undo" : `${undos} undos`} of ${runs === 1 ? "it" : "them"} failed for good: what was done still stands.`,
      todo: `Undo it by hand. ${runs === 1 ? "See" : "One of them:"} layover show ${example}`,
      facts: { ...some },
    };
  });
}

/** Says which runs close, and wait for runs that they have cancelled and that do not end. */
export function checkClosing({ closing = [], now }: Diagnosis): readonly Check[] {
  return closing.slice(0, shownOfAKind).map((some): Check => {
    const { runs, since, example, waitsFor } = some;
    const [wait, they] = runs === 1 ? ["waits", "it"] : ["wait", "they"];
    return {
      about: "runs",
      level: "warning",
      says: `${countOf(runs)} of ${nameOf(some)} ${wait} before the end for runs that ${they} cancelled, since ${clockTime(new Date(since))} (${lasting(now - since)}). After a day ${they} will wait no more.`,
      todo: `Deploy the code of those that do not end, or end them: layover terminate ${waitsFor}. See layover show ${example}`,
      facts: { ...some },
    };
  });
}

/** Says which runs were started with another contract than those that are deployed. */
export function checkContracts({ otherContracts = [] }: Diagnosis): readonly Check[] {
  return otherContracts.slice(0, shownOfAKind).map((some): Check => {
    const { version, runs, example } = some;
    const [was, they] = runs === 1 ? ["was", "it takes"] : ["were", "they take"];
    return {
      about: "contracts",
      level: "warning",
      says: `${countOf(runs)} of ${nameOf(some)} ${was} started with another contract than the one that is deployed as version ${version}.`,
      todo: `Where a schema changes, raise the version: else what ${they} may not fit the code. ${runs === 1 ? "See" : "One of them:"} layover show ${example}`,
      facts: { ...some },
    };
  });
}

function more(rest: readonly Trouble[]): Check {
  const runs = rest.reduce((sum, trouble) => sum + trouble.runs, 0);
  const says = `… and ${countOf(runs)} of other workflows or for other reasons.`;
  return { about: "runs", level: "problem", says, facts: { troubles: rest } };
}

function checkOf(trouble: Trouble, diagnosis: Diagnosis): Check {
  const { level = "problem", says, todo } = words[trouble.keptBy](trouble, diagnosis);
  return {
    about: "runs",
    level,
    says,
    todo: `${todo} ${trouble.runs === 1 ? "See" : "One of them:"} layover show ${trouble.example}`,
    facts: { ...trouble },
  };
}

type Words = Pick<Check, "says" | "todo"> & { readonly level?: Check["level"] };

const words: Readonly<Record<Trouble["keptBy"], (trouble: Trouble, diagnosis: Diagnosis) => Words>> = {
  overdue: (trouble, { now, lastTurnAt }) => {
    const since = trouble.since ?? now;
    const late = `${subject(trouble)} overdue, since ${clockTime(new Date(since))} (${lasting(now - since)})`;
    const versionedName = nameOf(trouble);
    if (lastTurnAt !== null && lastTurnAt > since + latestRingMs) {
      return {
        says: `${late}, while other runs go on: nobody carries out ${versionedName}.`,
        todo: `Deploy the code of ${versionedName}: a version stays registered until its last run is over.`,
      };
    }
    return {
      says: `${late}, and no turn has ended since: nobody looks.`,
      todo: `Either no deployment has the code of ${versionedName}, or no schedule runs (the cron trigger, or the process itself).`,
    };
  },
  unclaimed: (trouble) => ({
    says: `${subject(trouble)} dispatched again and again (${trouble.dispatches} times), and never claimed.`,
    todo: "Whoever is to carry out turns does not get them, or fails before it claims: look at its log, its queue, its DATABASE_URL.",
  }),
  crashes: (trouble) => ({
    level: "warning",
    says: `${subject(trouble)} claimed ${trouble.claims} times in a row and not finished: the invocations die.`,
    todo: "Look at the deployment's log for what ends them: memory, a time limit, process.exit.",
  }),
  refused: (trouble) => ({
    level: "warning",
    says: `${subject(trouble)} refused by the deployment ${trouble.refusedBy ?? ""}, and no other one has gone on: ${trouble.reason ?? ""}.`,
    todo: "Another live deployment has this version and is tried each minute. If it does not come: deploy the code that fits.",
  }),
  setback: (trouble, { now }) => ({
    level: "warning",
    says: `${subject(trouble)} held up, since ${clockTime(new Date(trouble.since ?? now))}: ${trouble.reason ?? ""}. ${trouble.runs === 1 ? "It is" : "They are"} tried again a minute, 10 minutes, an hour and 6 hours after that.`,
    todo: "If the tries do not help, they are blocked until new code is deployed: correct what the reason says.",
  }),
  blocked: (trouble) => ({
    says: `${subject(trouble)} blocked${byWhom(trouble)}: ${trouble.reason ?? ""}.`.replace(/\.\.$/, "."),
    todo: "Deploy the code that fits: the new deployment tries again by itself.",
  }),
};

function byWhom({ refusedBy }: Trouble): string {
  return refusedBy === null || refusedBy === undefined ? "" : `, refused by the deployment ${refusedBy}`;
}

/** "2 runs of order@1 are" */
function subject(trouble: Trouble): string {
  return `${countOf(trouble.runs)} of ${nameOf(trouble)} ${trouble.runs === 1 ? "is" : "are"}`;
}

function nameOf({ workflow, version }: Pick<Trouble, "workflow" | "version">): string {
  return `${workflow}@${version}`;
}

function countOf(runs: number): string {
  return runs === 1 ? "1 run" : `${runs} runs`;
}
