/** The people outside who use the workflows: they start runs, write letters, and answer callbacks. */
import type { Deed } from "../../src/http/webhooks/deeds.ts";
import { deliver } from "../delivering.ts";
import type { Chance } from "../engine/chance.ts";
import type { Passage } from "./passage.ts";
import type { Patience } from "./patience.ts";
import type { ProgramContract } from "./programs/contract.ts";
import type { CallbackPlan, Facts } from "./programs/part.ts";
import { userIdOf } from "./run-ids.ts";
import { type Letter, opening, type PlannedRun } from "./scenario.ts";
import type { Session, Sessions } from "./sessions.ts";

export interface PeopleOptions {
  readonly patience: Patience;
  readonly passage: Passage;
  readonly sessions: Sessions;
  readonly note: (line: () => string) => void;
}

interface DeliveredRun {
  readonly runId: string;
  readonly id: string;
  readonly delay: number | undefined;
}

export class People {
  readonly #options: PeopleOptions;
  readonly #patience: Patience;
  readonly #chance: Chance;
  readonly #letters = new Map<string, Facts["signals"]>();
  readonly #answers = new Map<string, Facts["answered"]>();
  readonly #refusedAt = new Map<string, number>();
  readonly #started = new Set<string>();
  readonly #invited = new Set<string>();

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.#patience = options.patience;
    this.#chance = options.patience.chance;
  }

  hasStarted(runId: string): boolean {
    return this.#started.has(runId);
  }

  /** The signals that were acknowledged. */
  sentTo(runId: string): Facts["signals"] {
    return this.#letters.get(runId) ?? [];
  }

  noteSignal(runId: string, letter: Facts["signals"][number]): void {
    this.#letters.set(runId, [...this.sentTo(runId), letter]);
  }

  answersTo(runId: string): Facts["answered"] {
    return this.#answers.get(runId) ?? [];
  }

  /** When an answer to one of its callbacks was refused last. Undefined: none was. */
  refusedAt(runId: string): number | undefined {
    return this.#refusedAt.get(runId);
  }

  /** Starts it, and writes its letters. */
  start(contract: ProgramContract, runId: string, plan: PlannedRun): void {
    this.#patience.act(async () => {
      await this.#patience.pause(plan.startAtMs, `starts ${runId}`);
      const { delayMs: delay } = plan;
      const options = { runId, id: userIdOf(runId), delay };
      switch (plan.by) {
        case "client":
        case "somebody in a hurry":
        case "two": {
          const terms = { insists: plan.by !== "somebody in a hurry" };
          const start = () => this.#patience.insist((client) => client.start(contract, undefined, options), terms);
          const starts = plan.by === "two" ? [start(), start()] : [start()];
          for (const started of await Promise.all(starts)) if ("answer" in started) this.#started.add(runId);
          return;
        }
        case "signal": {
          const signalId = this.#chance.uuid();
          const terms = { ...options, signalId };
          const sent = await this.#patience.insist((client) => client.signalWithStart(contract, "red", opening, terms));
          if (!("answer" in sent)) return;
          this.#started.add(runId);
          this.noteSignal(runId, { name: "red", payload: opening });
          return;
        }
        case "sender":
          return await this.#deliver(contract, options);
        default:
          await this.#startInTransaction(contract, options, plan.by);
      }
    });
    for (const letter of plan.letters) this.#patience.act(() => this.#send(contract, runId, letter));
  }

  /** Sends a signal in a moment. */
  beckon(contract: ProgramContract, { runId, ...letter }: { runId: string } & Pick<Letter, "name" | "payload">): void {
    const atMs = this.#chance.below(100);
    this.#patience.act(() => this.#send(contract, runId, { ...letter, atMs, isTwice: false, insists: true }));
  }

  invite(
    contract: ProgramContract,
    { runId, token, plan }: { runId: string; token: string; plan: CallbackPlan },
  ): void {
    if (plan.answer === "never" || this.#invited.has(token)) return;
    this.#invited.add(token);
    this.#patience.act(async () => {
      await this.#patience.pause(plan.afterMs, `answers the callback of ${plan.value}`);
      const answered = await this.#patience.insist((client) =>
        plan.answer === "resolve"
          ? client.resolveCallback(token, plan.value, { contract })
          : client.rejectCallback(token, { message: plan.value }),
      );
      const answer = { value: plan.value, isAccepted: "answer" in answered };
      this.#answers.set(runId, [...this.answersTo(runId), answer]);
      if (!answer.isAccepted) this.#refusedAt.set(runId, this.#patience.now);
      if (!plan.twice) return;
      await this.#patience.pause(this.#chance.below(60_000), `answers the callback of ${plan.value} otherwise`);
      const other = `not ${plan.value}`;
      const again = await this.#patience.insist((client) => client.resolveCallback(token, other, { contract }));
      if (!("answer" in again)) return;
      if (answer.isAccepted)
        this.#patience.wrongs.push(`a second, other answer to the callback of ${plan.value} was taken`);
      // The wait was over, and a retry has opened it again.
      this.#answers.set(runId, [...this.answersTo(runId), { value: other, isAccepted: true }]);
    });
  }

  async #send(contract: ProgramContract, runId: string, letter: Letter): Promise<void> {
    const { name, payload, atMs, isTwice, insists } = letter;
    const signalId = this.#chance.uuid();
    await this.#patience.pause(atMs, `sends ${name} ${payload} to ${runId}`);
    const send = () =>
      this.#patience.insist((client) => client.signal(runId, name, payload, { contract, signalId }), { insists });
    const sent = await send();
    if (!("answer" in sent)) return;
    this.noteSignal(runId, { name, payload });
    if (!isTwice) return;
    await this.#patience.pause(this.#chance.below(300_000), `sends ${name} ${payload} to ${runId} again`);
    await send();
  }

  /** Delivers a start and its signal to a webhook, several times, each until it is answered: a sender never knows what arrived. */
  async #deliver(contract: ProgramContract, options: DeliveredRun): Promise<void> {
    const { runId } = options;
    const signal = { name: "red", payload: opening, dedupeId: undefined };
    const deed: Deed = { kind: "start", contract, input: undefined, options, signal };
    const send = async (copy: number) => {
      await this.#patience.pause(copy * this.#chance.below(60_000), `delivers ${runId}`);
      return await this.#patience.insist((client) =>
        client.within((context) => deliver(context, { webhook: "sender", delivery: runId }, [deed])),
      );
    };
    const sent = await Promise.all([send(0), send(0), send(1)]);
    const outcomes = sent.map((each) => ("answer" in each ? each.answer.outcome : each.refused));
    const done = outcomes.filter((outcome) => outcome === "done").length;
    if (done > 1) this.#patience.wrongs.push(`the delivery of ${runId} was done ${done} times`);
    if (!outcomes.some((outcome) => outcome === "done" || outcome === "duplicate")) return;
    this.#started.add(runId);
    this.noteSignal(runId, { name: "red", payload: opening });
  }

  async #startInTransaction(
    contract: ProgramContract,
    options: { readonly runId: string; readonly id: string; readonly delay: number | undefined },
    how: "commit" | "rollback",
  ): Promise<void> {
    const { passage, sessions, note } = this.#options;
    for (;;) {
      const process = await this.#patience.anyone();
      let session: Session | undefined;
      while (session === undefined) {
        if (sessions.areLent) await this.#patience.hesitate();
        else
          session = await passage.happen("somebody begins a transaction", async () => {
            const lent = await sessions.lend();
            await lent.begin();
            return lent;
          });
      }
      const lent = session;
      let isOver = false;
      const transaction = Object.assign(
        (text: string, parameters: readonly (string | number | null)[] = []) =>
          passage.inTransaction(
            "somebody starts a run in their transaction",
            { session: lent, isOver: () => isOver },
            (via) => via(text, parameters),
          ),
        { endpoint: lent.query.endpoint },
      );
      const end = (kind: "commit" | "rollback") =>
        passage.happen(`somebody ends their transaction: ${kind}`, async () => {
          isOver = true;
          try {
            await (kind === "commit" ? lent.end(kind) : lent.abort());
          } finally {
            sessions.giveBack(lent);
          }
        });
      const starting = process.request((client) => client.startIn(transaction, contract, undefined, options));
      const outcome = await Promise.race([
        starting.then(
          () => "started" as const,
          () => "failed" as const,
        ),
        process.gone.then(() => "gone" as const),
      ]);
      if (outcome !== "started") {
        await end("rollback");
        await this.#patience.hesitate();
        continue;
      }
      await this.#patience.pause(this.#chance.below(20_000), `ends the transaction of ${options.runId}`);
      if (process.isDead) {
        await end("rollback"); // its connection broke
        continue;
      }
      if (how === "rollback" && this.#chance.below(2) === 0) return end("rollback");
      try {
        await end("commit");
      } catch (error) {
        note(() => `… whose COMMIT was refused: ${String(error)}`);
        continue;
      }
      this.#started.add(options.runId);
      if (this.#chance.below(2) === 0) await this.#patience.insist((client) => client.wake());
      return;
    }
  }
}
