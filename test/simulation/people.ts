/**
 * The people outside: they start runs, write letters, answer callbacks, pause, cancel, terminate, retry and restart. Whoever asks for
 * something asks again until it is answered, by whatever process is there then.
 */
import { type Client, LayoverError } from "layover";
import { placeName } from "../../src/core/replay/demand.ts";
import { pause } from "../../src/core/waits.ts";
import { Timers } from "../../src/testing/timers.ts";
import type { Chance } from "../engine/chance.ts";
import type { Source } from "../engine/course.ts";
import type { Mortal } from "../engine/mortal.ts";
import type { Passage } from "./passage.ts";
import type { ProgramContract } from "./programs/contract.ts";
import type { CallbackPlan, Facts } from "./programs/part.ts";
import type { Act, Letter, PlannedRun } from "./scenario.ts";
import type { Session, Sessions } from "./sessions.ts";

export interface PeopleOptions {
  readonly time: () => number;
  readonly chance: Chance;
  readonly processes: () => readonly Mortal[];
  readonly passage: Passage;
  readonly sessions: Sessions;
  readonly note: (line: () => string) => void;
}

/** What came of a question: an answer, or that it was refused for good. */
type Answered<Answer> = { readonly answer: Answer } | { readonly refused: string };

const againMs = 1_000;
/** A call that was cut off is carried out within this time, or never. */
const lateMs = 600_000;
/** What another try may cure. */
const passing = new Set(["database_unavailable", "too_late", "internal", "unreachable", "no_answer", "closing"]);

export class People implements Source {
  readonly #options: PeopleOptions;
  readonly #timers: Timers;
  /** What they wait to do, in order of time. */
  #errands: { readonly at: number; readonly what: string }[] = [];
  readonly #letters = new Map<string, Facts["signals"]>();
  readonly #answers = new Map<string, Facts["answered"]>();
  readonly #started = new Set<string>();
  readonly #cancelled = new Set<string>();
  readonly #terminated = new Set<string>();
  readonly #repaired = new Set<string>();
  readonly #askedToEnd = new Set<string>();
  readonly #invited = new Set<string>();
  /** How many have something to do yet. */
  busy = 0;
  /** Somebody did what nobody should be able to. */
  readonly wrongs: string[] = [];

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.#timers = new Timers(options.time);
  }

  happenings() {
    const next = this.#timers.next;
    if (next === undefined || next > this.#options.time()) return [];
    return [{ what: () => this.#nextErrand(), act: () => void this.#timers.fire() }];
  }

  next(): number | undefined {
    return this.#timers.next;
  }

  #nextErrand(): string {
    const [first] = this.#errands.toSorted((one, other) => one.at - other.at);
    return `somebody ${first?.what ?? "goes on"}`;
  }

  hasStarted(runId: string): boolean {
    return this.#started.has(runId);
  }

  /** The signals that were acknowledged. */
  sentTo(runId: string): Facts["signals"] {
    return this.#letters.get(runId) ?? [];
  }

  answersTo(runId: string): Facts["answered"] {
    return this.#answers.get(runId) ?? [];
  }

  /** Starts it, and writes its letters. */
  start(contract: ProgramContract, runId: string, plan: PlannedRun): void {
    this.#act(async () => {
      await this.#pause(plan.startAtMs, `starts ${runId}`);
      const { delayMs: delay } = plan;
      const options = { runId, id: `the id of ${runId}`, delay };
      switch (plan.by) {
        case "client":
        case "somebody in a hurry":
        case "two": {
          const terms = { insists: plan.by !== "somebody in a hurry" };
          const start = () => this.#insist((client) => client.start(contract, undefined, options), terms);
          const starts = plan.by === "two" ? [start(), start()] : [start()];
          for (const started of await Promise.all(starts)) if ("answer" in started) this.#started.add(runId);
          return;
        }
        default:
          await this.#startInTransaction(contract, options, plan.by);
      }
    });
    for (const letter of plan.letters) this.#act(() => this.#send(contract, runId, letter));
    for (const act of plan.acts)
      this.#act(() =>
        act.verb === "retry" || act.verb === "restart" ? this.#repair(runId, act) : this.#operate(runId, act),
      );
  }

  /** Whether somebody was told that the run is being cancelled, or is cancelled. */
  hasCancelled(runId: string): boolean {
    return this.#cancelled.has(runId);
  }

  /** Whether somebody was told that the run is terminated. */
  hasTerminated(runId: string): boolean {
    return this.#terminated.has(runId);
  }

  /**
   * Whether somebody has asked for its cancel or termination. A call that was cut off may be carried out late, though the
   * same call, sent again, was told in between that there is no such run.
   */
  hasAskedToEnd(runId: string): boolean {
    return this.#askedToEnd.has(runId);
  }

  /** Retries or restarts a run, when it is over or stopped. Tries that several times. */
  async #repair(runId: string, act: Extract<Act, { verb: "retry" | "restart" }>): Promise<void> {
    await this.#pause(act.atMs, `is to ${act.verb} ${runId}`);
    for (let tries = 1; tries <= 5; tries += 1) {
      const options = { callId: this.#options.chance.uuid(), by: "somebody" };
      const from = act.verb === "restart" ? await this.#placeAfter(runId, act.kept) : undefined;
      const done = await this.#insist((client) =>
        act.verb === "retry" ? client.retry(runId, options) : client.restart(runId, { ...options, from }),
      );
      if ("answer" in done) {
        this.#repaired.add(runId);
        this.#cancelled.delete(runId);
        this.#terminated.delete(runId);
        return;
      }
      await this.#pause(600_000, `is to ${act.verb} ${runId} again`);
    }
  }

  /** Answers the place of the record that follows so many. Undefined: there are none, or it is no step. */
  async #placeAfter(runId: string, kept: number): Promise<string | undefined> {
    const looked = await this.#insist((client) => client.history(runId, { after: kept, limit: 1 }));
    const [record] = "answer" in looked ? looked.answer.records : [];
    return kept === 0 || record === undefined || record.path === "" ? undefined : placeName(record);
  }

  /** Whether somebody was told that it was retried or restarted. */
  hasRepaired(runId: string): boolean {
    return this.#repaired.has(runId);
  }

  /** Pauses a run and resumes it later, or cancels it, or terminates it. The same call is sent until it is answered. */
  async #operate(runId: string, act: Exclude<Act, { verb: "retry" | "restart" }>): Promise<void> {
    const terms = () => ({ callId: this.#options.chance.uuid(), by: "somebody" });
    await this.#pause(act.atMs, `is to ${act.verb} ${runId}`);
    const options = terms();
    if (act.verb !== "pause") this.#askedToEnd.add(runId);
    const done = await this.#insist((client) => client[act.verb](runId, options));
    if (!("answer" in done) && act.verb !== "pause") return;
    if (act.verb !== "pause") {
      (act.verb === "cancel" ? this.#cancelled : this.#terminated).add(runId);
      return;
    }
    // A try that was cut off may be carried out late, though a later one was told that there is no such run.
    await this.#pause("answer" in done ? act.forMs : Math.max(act.forMs, lateMs), `is to resume ${runId}`);
    const again = terms();
    await this.#insist((client) => client.resume(runId, again));
  }

  /** Sends a signal in a moment. */
  beckon(contract: ProgramContract, { runId, ...letter }: { runId: string } & Pick<Letter, "name" | "payload">): void {
    const atMs = this.#options.chance.below(100);
    this.#act(() => this.#send(contract, runId, { ...letter, atMs, isTwice: false, insists: true }));
  }

  invite(
    contract: ProgramContract,
    { runId, token, plan }: { runId: string; token: string; plan: CallbackPlan },
  ): void {
    if (plan.answer === "never" || this.#invited.has(token)) return;
    this.#invited.add(token);
    this.#act(async () => {
      await this.#pause(plan.afterMs, `answers the callback of ${plan.value}`);
      const answered = await this.#insist((client) =>
        plan.answer === "resolve"
          ? client.resolveCallback(token, plan.value, { contract })
          : client.rejectCallback(token, { message: plan.value }),
      );
      const answer = { value: plan.value, isAccepted: "answer" in answered };
      this.#answers.set(runId, [...this.answersTo(runId), answer]);
      if (!plan.twice) return;
      await this.#pause(this.#options.chance.below(60_000), `answers the callback of ${plan.value} otherwise`);
      const other = `not ${plan.value}`;
      const again = await this.#insist((client) => client.resolveCallback(token, other, { contract }));
      if (!("answer" in again)) return;
      if (answer.isAccepted) this.wrongs.push(`a second, other answer to the callback of ${plan.value} was taken`);
      // The wait was over, and a retry has opened it again.
      this.#answers.set(runId, [...this.answersTo(runId), { value: other, isAccepted: true }]);
    });
  }

  async #send(contract: ProgramContract, runId: string, letter: Letter): Promise<void> {
    const { name, payload, atMs, isTwice, insists } = letter;
    const signalId = this.#options.chance.uuid();
    await this.#pause(atMs, `sends ${name} ${payload} to ${runId}`);
    const send = () =>
      this.#insist((client) => client.signal(runId, name, payload, { contract, signalId }), { insists });
    const sent = await send();
    if (!("answer" in sent)) return;
    this.#letters.set(runId, [...this.sentTo(runId), { name, payload }]);
    if (!isTwice) return;
    await this.#pause(this.#options.chance.below(300_000), `sends ${name} ${payload} to ${runId} again`);
    await send();
  }

  async #startInTransaction(
    contract: ProgramContract,
    options: { readonly runId: string; readonly id: string; readonly delay: number | undefined },
    how: "commit" | "rollback",
  ): Promise<void> {
    const { passage, sessions, chance, note } = this.#options;
    for (;;) {
      const process = await this.#anyone();
      let session: Session | undefined;
      while (session === undefined) {
        if (sessions.areLent) await this.#pause(againMs, "asks again");
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
        await this.#pause(againMs, "asks again");
        continue;
      }
      await this.#pause(chance.below(20_000), `ends the transaction of ${options.runId}`);
      if (process.isDead) {
        await end("rollback"); // its connection broke
        continue;
      }
      if (how === "rollback" && chance.below(2) === 0) return end("rollback");
      try {
        await end("commit");
      } catch (error) {
        note(() => `… whose COMMIT was refused: ${String(error)}`);
        continue;
      }
      this.#started.add(options.runId);
      if (chance.below(2) === 0) await this.#insist((client) => client.wake());
      return;
    }
  }

  /** Asks until there is an answer, or a refusal that another try does not cure. */
  async #insist<Answer>(
    question: (client: Client) => Promise<Answer>,
    { insists = true }: { readonly insists?: boolean } = {},
  ): Promise<Answered<Answer>> {
    for (;;) {
      const process = await this.#anyone();
      const asked = process.request(question).then(
        (answer) => ({ answer }),
        (error: unknown) => ({ refused: codeOf(error) }),
      );
      const outcome = await Promise.race([asked, process.gone]);
      if (outcome !== undefined && "refused" in outcome)
        this.#options.note(() => `… ${process.name} refuses: ${outcome.refused}`);
      if (outcome !== undefined && !("refused" in outcome && passing.has(outcome.refused))) return outcome;
      if (!insists) return { refused: "nobody asked again" };
      await this.#pause(againMs, "asks again");
    }
  }

  async #anyone(): Promise<Mortal> {
    for (;;) {
      const processes = this.#options.processes();
      const process = processes[this.#options.chance.below(Math.max(1, processes.length))];
      if (process !== undefined) return process;
      await this.#pause(againMs, "asks again");
    }
  }

  #act(story: () => Promise<void>): void {
    this.busy += 1;
    void story().then(
      () => {
        this.busy -= 1;
      },
      (error: unknown) =>
        this.wrongs.push(`somebody outside failed: ${error instanceof Error ? error.stack : String(error)}`),
    );
  }

  async #pause(ms: number, what: string): Promise<void> {
    const at = this.#options.time() + ms;
    const errand = { at, what };
    this.#errands.push(errand);
    await pause(this.#timers, ms);
    this.#errands = this.#errands.filter((other) => other !== errand);
  }
}

function codeOf(error: unknown): string {
  if (error instanceof LayoverError) return error.code;
  throw error;
}
