/**
 * Finds a page of runs with one statement, and counts them with another. The database looks at 2,000 rows for a list
 * (`mostRows`) and at 1,000 for a count. So a filter that few runs fit shows what it has found, and how far it has looked.
 */

import { runIdOf } from "../../../client/listing.ts";
import type { Client } from "../../../client/over-postgres/client.ts";
import { countRuns, readRun } from "../../../client/over-postgres/reads.ts";
import { isUuid } from "../../../client/run-id.ts";
import { type RunView, runView } from "../../../client/run-view.ts";
import { LayoverError } from "../../../core/errors.ts";
import { checkName } from "../../../core/names.ts";
import type { Contracts } from "../../contracts.ts";
import { msOfUuid } from "../times.ts";
import type { Asked } from "./filter-form.ts";

export interface FoundRuns {
  readonly runs: readonly RunView[];
  /** "3", "1,000+", "at least 12". Undefined: it is not known. */
  readonly count: string | undefined;
  /** The cursor of the next page. Undefined: there is none. */
  readonly cursor: string | undefined;
  /** The time to which it has looked back, if it has not looked at all runs that are older. */
  readonly lookedBackTo: Date | undefined;
}

const pageSize = 50;
const mostCounted = 1_000;

/** How many workflows are asked for an id of which nobody said the workflow. */
const mostWorkflows = 10;

export async function findRuns(
  client: Client,
  asked: Asked,
  contracts: Contracts,
  cursor?: string,
): Promise<FoundRuns> {
  if (asked.of("id") !== "") return wholly(await runsWithId(client, asked, contracts));
  const filter = asked.filter();
  const { runs, cursor: next } = await client.list({ ...filter, limit: pageSize, cursor });
  const isShort = next !== undefined && runs.length < pageSize;
  const lookedMs = isShort ? msOfUuid(runIdOf(next)) : undefined;
  return {
    runs,
    count: await countOf(),
    cursor: next,
    lookedBackTo: lookedMs === undefined ? undefined : new Date(lookedMs),
  };

  /** Counts with a statement only where a page is full: otherwise the list has looked at as many rows as it may. */
  async function countOf(): Promise<string | undefined> {
    if (cursor !== undefined) return undefined;
    if (next === undefined) return String(runs.length);
    if (isShort) return `at least ${runs.length}`;
    const counted = await client.within((context) => countRuns(context, filter, mostCounted));
    if (counted === undefined) return undefined;
    if (counted.count >= mostCounted) return "1,000+";
    return counted.isWhole ? String(counted.count) : `at least ${counted.count}`;
  }
}

function wholly(runs: readonly RunView[]): FoundRuns {
  return { runs, count: String(runs.length), cursor: undefined, lookedBackTo: undefined };
}

/** Finds runs by our id, or by the user's own in each workflow that may be meant. */
async function runsWithId(client: Client, asked: Asked, contracts: Contracts): Promise<readonly RunView[]> {
  const id = asked.of("id");
  const workflow = asked.of("workflow");
  const found: RunView[] = [];
  if (isUuid(id)) found.push(...(await ifKnown(() => client.get(id))));
  const known = [...new Map(contracts.all().map((contract) => [contract.name, contract])).values()];
  const meant = workflow === "" ? known.slice(0, mostWorkflows) : [{ name: workflow }];
  for (const { name } of meant) {
    const key = { workflow: checkName(name, "workflow"), id: checkName(id, "id") };
    found.push(...(await ifKnown(() => client.within(async (context) => runView(await readRun(context, key))))));
  }
  return found;
}

async function ifKnown(ask: () => Promise<RunView>): Promise<readonly RunView[]> {
  try {
    return [await ask()];
  } catch (error) {
    if (error instanceof LayoverError && error.code === "unknown_run") return [];
    throw error;
  }
}
