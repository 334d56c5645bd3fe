/**
 * What tells whether a request comes from the sender that it names. A verifier looks at the raw bytes, compares in constant
 * time, and sends no SQL: a stranger must not keep the database awake.
 */

/** A request as its sender made it. */
export interface SenderRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** The bytes of the body, as they came. */
  readonly body: Uint8Array;
  /** The time by the host's clock, in epoch milliseconds. */
  readonly now: number;
}

/** An answer to a sender that wants a certain one. */
export interface SenderAnswer {
  /** A whole number, 200 to 599. Default: 200. */
  readonly status?: number | undefined;
  /** The content type. Default: `text/plain`, and `application/json` for a body that is no text. */
  readonly type?: string | undefined;
  /** Further headers, up to 20 of 4,096 characters each. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A text, or a value that is sent as JSON. Default: nothing. With the status 204, 205 or 304 there is none. */
  readonly body?: unknown;
}

export type Verdict<Event> =
  | {
      readonly outcome: "verified";
      readonly event: Event;
      /** The sender's id of the delivery: the same when it is sent again. Undefined: this sender has none. */
      readonly delivery: string | undefined;
      /** Whether the signature covers the id. If not, the body tells deliveries apart as well. */
      readonly isIdSigned: boolean;
    }
  /** The sender only asks whether somebody is here. */
  | { readonly outcome: "answered"; readonly answer: SenderAnswer }
  /** `reason`: a clause for the operator: "it has no header stripe-signature". The sender is not told. */
  | { readonly outcome: "refused"; readonly reason: string };

export interface Verifier<Event = unknown, Env = never> {
  /** Who sends: "Stripe". */
  readonly sender: string;
  /** Headers, in lower case, that hold what is secret, beside those whose names say so. */
  readonly secretHeaders?: readonly string[] | undefined;
  /** Whether the sender may ask by GET whether somebody is here. */
  readonly asksByGet?: boolean | undefined;
  /** Whether no delivery of this sender has an id, so that its body alone tells that it came again. */
  readonly hasNoIds?: boolean | undefined;
  /** Whether the sender waits some seconds only, or never sends again. Then it is answered before, where there is a queue. */
  readonly isImpatient?: boolean | undefined;
  /** Whether the sender shows to people what stands in an answer, so that there is nothing in it. */
  readonly wantsNoBody?: boolean | undefined;
  readonly verify: (request: SenderRequest, env: Env) => Verdict<Event>;
}

/** The variables of a deployment, by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Finds the sender's secret in the variables of the deployment, or two while the secret is being changed. */
export type SecretOf<Env> = (env: Env) => string | undefined | readonly (string | undefined)[];
