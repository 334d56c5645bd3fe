/** A process around the code of a platform. It sees when a group of suspects is carried out in it. */
import type { Query } from "layover";
import { isSuspect } from "../../../src/core/groups.ts";
import { atWork, Mortal } from "../../engine/mortal.ts";

export abstract class Hosted extends Mortal {
  /** How many deliveries are under way that have turns of groups. */
  #groups = 0;

  /** Carries out what was delivered: `turns`, as they came. "any": what will be dispatched here is not known yet. */
  protected async carryingOut<Answer>(turns: readonly unknown[] | "any", work: () => Promise<Answer>): Promise<Answer> {
    const isGroup = turns === "any" || turns.some((turn) => isSuspect(Object(turn)));
    if (isGroup) this.#groups += 1;
    const answer = await atWork.run(this, work);
    if (isGroup) this.#groups -= 1;
    this.hasGroup &&= this.#groups > 0;
    return answer;
  }

  protected database(): Query {
    const query = (...[text, parameters]: Parameters<Query>): ReturnType<Query> => {
      if (this.#groups > 0 && text.includes("claim_turns")) this.hasGroup ||= claimsGroup(String(parameters?.[0]));
      return this.query(text, parameters);
    };
    const { endpoint, transact, sealing } = this.query;
    return Object.assign(query, { endpoint, transact, sealing });
  }
}

function claimsGroup(parameter: string): boolean {
  const { turns }: { turns: readonly { readonly turn: number; readonly runId: string }[] } = JSON.parse(parameter);
  return turns.some(isSuspect);
}
