/** Opens, makes and answers the tokens of callbacks. */
import type { CallbackRef, OpenCallback, SealCallback } from "../../core/contract/callback.ts";
import type { Contract } from "../../core/contract/contract.ts";
import { LayoverError } from "../../core/errors.ts";
import type { CallbackCall, CallbackUrl } from "../../postgres/wire-verbs.ts";
import { callbackTokenIn } from "../callback-token.ts";
import {
  type CallbackView,
  encodedAnswer,
  encodedRejection,
  endedLink,
  type Rejection,
  refuseUnanswered,
  unknownCallback,
} from "../mail.ts";
import { dateOf } from "../run-view.ts";
import type { ClientContext } from "./client-context.ts";
import { translated } from "./failure.ts";

export interface CallbackTokens {
  readonly openCallback?: OpenCallback | undefined;
  readonly sealCallback?: SealCallback | undefined;
}

export class Callbacks {
  readonly #context: ClientContext;
  readonly #tokens: CallbackTokens;

  constructor(context: ClientContext, tokens: CallbackTokens) {
    this.#context = context;
    this.#tokens = tokens;
  }

  /** Reads which wait a token answers. Sends no statement. @throws LayoverError `unknown_callback`, `callback_expired` */
  open(token: string): CallbackRef {
    const { openCallback } = this.#tokens;
    if (openCallback === undefined) {
      throw new LayoverError("invalid_secret", "this client has no secrets, so it cannot open a callback's token", {
        hint: "Give it the root secret that the tokens are signed with.",
      });
    }
    const ref = openCallback(callbackTokenIn(token));
    if (ref === undefined) throw unknownCallback();
    const { calls, host } = this.#context;
    const now = (calls.clock.isKnown ? calls.clock : host).now();
    if (ref.endsAt !== undefined && ref.endsAt <= now) throw endedLink(ref.name);
    return ref;
  }

  /** Makes a token of that wait, and the URL that answers it. @throws LayoverError `callbacks_unavailable` */
  seal(ref: CallbackRef): ReturnType<SealCallback> {
    const { sealCallback } = this.#tokens;
    if (sealCallback !== undefined) return sealCallback(ref);
    throw new LayoverError("callbacks_unavailable", "this client has no public URL or no secret to make links with", {
      hint: "Set publicUrl and secrets where the workflows are served.",
    });
  }

  /** Answers what became of that wait. @throws LayoverError `unknown_callback` */
  async read(ref: CallbackRef): Promise<CallbackView> {
    const { workflow, version, name, title, text } = ref;
    const { outcome, until } = await translated(() => this.#context.calls.readCallback(urlOf(ref)));
    if (outcome === "unknown") throw unknownCallback();
    const asked = { ...(title !== undefined && { title }), ...(text !== undefined && { text }) };
    return { workflow, version, name, ...asked, status: outcome, deadline: dateOf(until) };
  }

  /** @throws LayoverError `unknown_callback`, `invalid_payload`, `callback_conflict`, `callback_expired` */
  async resolve(ref: CallbackRef, value: unknown, contract: Contract): Promise<void> {
    await this.#answer(ref, "resolved", await encodedAnswer(contract, ref, value, this.#context.valueBytes));
  }

  /** @throws LayoverError as `resolve` */
  async reject(ref: CallbackRef, reason: Rejection): Promise<void> {
    await this.#answer(ref, "rejected", { value: encodedRejection(reason) });
  }

  async #answer(
    ref: CallbackRef,
    outcome: "resolved" | "rejected",
    answered: Pick<CallbackCall, "value" | "sent">,
  ): Promise<void> {
    const call = { ...urlOf(ref), outcome, ...answered };
    const answer = await translated(() => this.#context.calls.answerCallback(call));
    refuseUnanswered(answer, ref.name);
    if ("turn" in answer) await this.#context.dispatchSoon(ref.runId, answer.turn);
  }
}

function urlOf({ runId, epoch, path, occurrence, madeAt, madeIn }: CallbackRef): CallbackUrl {
  const made = { ...(madeAt !== undefined && { madeAt }), ...(madeIn !== undefined && { madeIn }) };
  return { runId, epoch, path, occurrence, ...made };
}
