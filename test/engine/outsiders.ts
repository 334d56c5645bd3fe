/**
 * The people outside of a run: they send it signals and answer its callbacks, insist until they are heard, and remember
 * what came of it.
 */
import { LayoverError } from "layover";
import { programContract, type SignalName } from "../simulation/programs/contract.ts";
import type { Answered, Facts, ProgramWorld } from "../simulation/programs/program.ts";
import type { World } from "./world.ts";

type Invitation = Parameters<ProgramWorld["invite"]>[0];

interface Awaiting extends Invitation {
  /** When it is to be answered, in the world's milliseconds. */
  readonly at: number;
  isAnswered: boolean;
}

export class Outsiders {
  readonly #world: World;
  readonly #signals: { name: string; payload: number }[] = [];
  readonly #answered: Answered[] = [];
  /** Invitations by the value of their plan, so that somebody who is invited twice answers once. */
  readonly #invitations = new Map<string, Awaiting>();

  constructor(world: World) {
    this.#world = world;
  }

  get facts(): Facts {
    return { signals: this.#signals, answered: this.#answered, beginnings: this.#world.beginnings.size };
  }

  /** When somebody answers a callback next, in the world's time. */
  get next(): number {
    return Math.min(...this.#waiting.map(({ at }) => at), Number.POSITIVE_INFINITY);
  }

  invite(invitation: Invitation): void {
    const { value, answer, afterMs } = invitation.plan;
    const { time } = this.#world;
    if (answer === "never" || this.#invitations.has(value)) return;
    this.#invitations.set(value, { ...invitation, at: time + afterMs, isAnswered: false });
  }

  /** Sends a signal. Each signal of a run has a payload of its own. */
  async send(run: { readonly runId: string }, name: SignalName): Promise<void> {
    const payload = this.#signals.length;
    const signalId = this.#world.chance.uuid();
    const refusal = await insist(() => this.#world.signal(run, programContract, name, payload, { signalId }));
    if (refusal === undefined) this.#signals.push({ name, payload });
  }

  /** Answers the callbacks whose time has come. */
  async answer(): Promise<void> {
    for (const invitation of this.#waiting.filter(({ at }) => at <= this.#world.time)) {
      invitation.isAnswered = true;
      const { value, twice } = invitation.plan;
      const refusal = await this.#reply(invitation, value);
      this.#answered.push({ value, isAccepted: refusal === undefined });
      if (twice && (await this.#reply(invitation, `not ${value}`)) === undefined) {
        throw new Error(`the callback ${value} was answered twice`);
      }
    }
  }

  get #waiting() {
    return [...this.#invitations.values()].filter(({ isAnswered }) => !isAnswered);
  }

  #reply({ token, plan }: Invitation, value: string): Promise<string | undefined> {
    return insist(() =>
      this.#world.ask((client) =>
        plan.answer === "resolve"
          ? client.resolveCallback(token, value, { contract: programContract })
          : client.rejectCallback(token, value),
      ),
    );
  }
}

const refusals = new Set(["run_over", "callback_expired", "callback_conflict"]);

/** Asks again and again until it is done. Answers why it was refused, if it was. */
export async function insist(ask: () => Promise<unknown>): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      await ask();
      return undefined;
    } catch (error) {
      if (error instanceof LayoverError && refusals.has(error.code)) return error.code;
      if (tries === 20) throw error;
    }
  }
}
