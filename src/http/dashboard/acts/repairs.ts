/**
 * What makes a failed run go on, or begins a run again from the place that a person names: the same run, or a new one (a
 * fork).
 */
import type { Contract } from "../../../core/contract/contract.ts";
import { parseJson } from "../../body.ts";
import type { Route } from "../../route.ts";
import type { DashboardTerms } from "../mount.ts";
import type { DashboardVisit } from "../screens.ts";
import { counted } from "../values.ts";
import { type ActRoute, asked, contractOf } from "./act.ts";
import type { Texts } from "./texts.ts";

export function repairActs(route: ActRoute, terms: DashboardTerms): readonly Route[] {
  return [
    route("runs/:id/retry", "admin", async ({ client, param, caller }, texts) => {
      const { kept } = await client.retry(param("id"), {
        ...asked(texts),
        by: caller.name,
        epoch: texts.number("epoch"),
      });
      return { said: `The run goes on, with ${counted(kept, "record")} of before.` };
    }),
    route("runs/:id/restart", "admin", async ({ client, param, caller }, texts) => {
      const input = await anotherInput(client, param("id"), texts, terms);
      const options = {
        ...asked(texts),
        by: caller.name,
        epoch: texts.number("epoch"),
        from: texts.of("from"),
        ...input,
      };
      if (texts.of("dryRun") !== undefined) {
        const { kept, dropped } = await client.planRestart(param("id"), options);
        return { said: `A restart would keep ${counted(kept, "record")} and drop ${dropped}. Nothing was done.` };
      }
      const { kept, dropped } = await client.restart(param("id"), options);
      return {
        said: `The run begins again, with ${counted(kept, "record")} of before, and without ${counted(dropped, "later one")}.`,
      };
    }),
    route("runs/:id/fork", "admin", async ({ client, param }, texts) => {
      const input = await anotherInput(client, param("id"), texts, terms);
      const { runId } = await client.fork(param("id"), {
        epoch: texts.number("epoch"),
        from: texts.of("from"),
        id: texts.of("id"),
        newRunId: texts.of("call"),
        ...input,
      });
      return { to: `runs/${runId}` };
    }),
  ];
}

async function anotherInput(
  client: DashboardVisit["client"],
  runId: string,
  texts: Texts,
  terms: DashboardTerms,
): Promise<{ readonly input: unknown; readonly contract: Contract } | undefined> {
  const text = texts.of("input");
  if (text === undefined) return undefined;
  return { input: parseJson(text, "the input"), contract: await contractOf(client, runId, terms) };
}
