/** What a process of the fleet is made of: its workflows, its way to the database, its clock, and the draws of the seed. */
import type { Chance } from "../engine/chance.ts";
import type { Mortal } from "../engine/mortal.ts";
import { inOneStatement } from "./one-statement.ts";
import type { Plan } from "./outside/outside.ts";
import { type ProgramContract, twinOf } from "./programs/contract.ts";
import { offspringWorkflow } from "./programs/invoke.ts";
import type { ProgramWorld } from "./programs/part.ts";
import { playing } from "./programs/program.ts";
import type { Scenario } from "./scenario.ts";
import type { Site } from "./site.ts";
import type { Values } from "./values.ts";

export interface PlanOptions {
  readonly site: Site;
  readonly scenario: Scenario;
  readonly contracts: readonly ProgramContract[];
  readonly chance: Chance;
  /** The world's. */
  readonly time: () => number;
  /** The instant at which the world began. */
  readonly beginning: number;
  readonly world: ProgramWorld;
  readonly values: Values;
  readonly note: (line: () => string) => void;
}

/** What tells a process from the others. */
interface Individual {
  readonly name: string;
  readonly instead: Mortal | undefined;
  /** Id of its deployment. */
  readonly deployment: string;
  /** Whether its deployment has the code of the version. */
  readonly hasCodeOf: (version: number) => boolean;
  readonly skewMs: number | undefined;
}

const namespace = "simulation";
/** What its deployments have in common. */
const stack = "stack";
/** So little that the history of one run with long results may fill it. */
const claimBytes = 2_000_000;
/** The platforms that end an invocation after some time. */
const endsInvocations = new Set<Scenario["platform"]>(["cloudflare", "aws", "cron", "fetch"]);
/** As pg.ts has it. */
const answersWithinMs = 15_000;

export function planOf(
  { site, scenario, contracts, chance, time, beginning, world, values, note }: PlanOptions,
  { name, instead, deployment, hasCodeOf, skewMs }: Individual,
): Plan {
  const { store } = values;
  const above = scenario.storesAbove;
  const { query } = site;
  const { platform, shortIn } = scenario;
  return {
    name,
    instead,
    workflows: [
      offspringWorkflow,
      ...scenario.runs.flatMap(({ program }, number) => {
        const contract = contracts[number];
        return contract === undefined || !hasCodeOf(number + 1)
          ? []
          : [contract, twinOf(contract)].map((one) => one.handler(playing(program, world)));
      }),
    ],
    namespace,
    deployment: { name: stack, id: deployment },
    query: Object.assign((...call: Parameters<typeof query>) => query(...call), { endpoint: query.endpoint }),
    values: above === undefined ? undefined : { store, above },
    together: inOneStatement,
    answersWithinMs: platform === "embedded" ? undefined : answersWithinMs,
    time,
    beginning,
    skewMs,
    warmRuns: scenario.warmRuns,
    claimBytes,
    hasTimeFor: shortIn === undefined || !endsInvocations.has(platform) ? undefined : () => chance.below(shortIn) > 0,
    invocation: { maxSteps: scenario.maxSteps },
    random: chance.next,
    newToken: chance.uuid,
    onError: (error, doing) => note(() => `… ${name} reports, while ${doing}: ${String(error)}`),
  };
}
