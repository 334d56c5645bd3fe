/** The people who move runs to another version of their workflow: they look at a run, and ask for the move. */
import { translated } from "../../src/client/over-postgres/failure.ts";
import { upgradeRun } from "../../src/client/over-postgres/upgrades.ts";
import { signatureOf } from "../../src/core/contract/signature.ts";
import type { Upgrade } from "./acts.ts";
import type { Patience } from "./patience.ts";
import { type ProgramContract, twinOf } from "./programs/contract.ts";

/** How often somebody tries it with a run that is at work or has moved on, and after how long. */
const mostTries = 5;
const laterMs = 20_000;

export class Movers {
  readonly #patience: Patience;
  /** The versions that each run may be of now: the last that somebody was told, and all that they have asked for since. */
  readonly #now = new Map<string, ReadonlySet<number>>();
  readonly #ever = new Map<string, ReadonlySet<number>>();

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  /** The versions on which a run may end that was started as this one. */
  versionsOf(runId: string, { version }: ProgramContract): ReadonlySet<number> {
    return this.#now.get(runId) ?? new Set([version]);
  }

  /** All that it may ever have been of. A fork of it begins as one of them. */
  everOf(runId: string, { version }: ProgramContract): ReadonlySet<number> {
    return this.#ever.get(runId) ?? new Set([version]);
  }

  /** Nobody else moves this run. */
  async move(contract: ProgramContract, runId: string, { atMs, lateMs, backAfterMs }: Upgrade): Promise<void> {
    const other = twinOf(contract);
    await this.#patience.pause(atMs, `is to upgrade ${runId}`);
    const isMoved = await this.#try(runId, [contract, other], lateMs);
    if (!isMoved || backAfterMs === undefined) return;
    await this.#patience.pause(backAfterMs, `is to move ${runId} back`);
    await this.#try(runId, [other, contract], lateMs);
  }

  async #try(runId: string, versions: readonly [ProgramContract, ProgramContract], lateMs: number): Promise<boolean> {
    for (let tries = 1; tries <= mostTries; tries += 1) {
      if (await this.#once(runId, versions, lateMs)) return true;
      await this.#patience.pause(laterMs, `is to upgrade ${runId} again`);
    }
    return false;
  }

  async #once(runId: string, [from, to]: readonly [ProgramContract, ProgramContract], lateMs: number) {
    const callId = this.#patience.chance.uuid();
    const seen = await this.#patience.insist((client) =>
      client.within(({ calls }) => translated(() => calls.readMail({ runId }))),
    );
    if (!("answer" in seen) || seen.answer.outcome !== "read") return false;
    const { epoch, turn, position, lastMail } = seen.answer;
    await this.#patience.pause(lateMs, `has looked at ${runId}`);
    const looked = { epoch, turn, position, lastMail };
    const terms = { from: from.version, to: to.version, signature: signatureOf(to), ...looked, callId };
    this.#note(runId, [...this.versionsOf(runId, from), to.version]);
    const done = await this.#patience.insist((client) => client.within((context) => upgradeRun(context, runId, terms)));
    const isMoved = "answer" in done && done.answer.outcome === "upgraded";
    if (isMoved) this.#note(runId, [to.version]);
    return isMoved;
  }

  #note(runId: string, versions: readonly number[]): void {
    this.#ever.set(runId, new Set([...(this.#ever.get(runId) ?? []), ...versions]));
    this.#now.set(runId, new Set(versions));
  }
}
