/** The calls of operators: environments, API keys, and what is wrong. One method for each SQL function. */

import type * as operator from "../wire-operator.ts";
import type { CallSender } from "./call-sender.ts";

export type OperatorCalls = ReturnType<typeof operatorCalls>;

export function operatorCalls(sender: CallSender) {
  return {
    adoptEnvironment(environment: string): Promise<{ readonly outcome: "adopted" }> {
      return sender.call("adopt_environment", { environment, endpoint: sender.endpoint });
    },

    /**
     * Adds this address to those of the environment. `another_database`: the address is not known to lead to the
     * environment's database.
     */
    adoptAddress(environment: string): Promise<{ readonly outcome: "adopted" | "another_database" }> {
      return sender.call("adopt_environment", { environment, endpoint: sender.endpoint, isAddress: true });
    },

    /** Writes down an API key that was just made. `taken`: another valid key has this name. */
    createKey(call: operator.KeyCall): Promise<{ readonly outcome: "created" | "taken" }> {
      return sender.call("create_key", call);
    },

    listKeys(): Promise<{ readonly now: number; readonly keys: readonly operator.WireKey[] }> {
      return sender.call("list_keys", {});
    },

    /** If there is `expiresAt`, the id is that of a session which ends before that. */
    revokeKey(
      key: { readonly keyId: string; readonly expiresAt?: number } | { readonly name: string },
    ): Promise<operator.RevokeAnswer> {
      return sender.call("revoke_key", key);
    },

    diagnose(): Promise<operator.Diagnosis> {
      return sender.call("diagnose", {});
    },
  };
}
