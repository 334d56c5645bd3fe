/** A run does not fit where its code calls the network or a timer outside of a step: the replay refuses that. */
import type { UpgradeVerdict } from "./judge-upgrade.ts";
import type { ReplayVerdict } from "./replay-stored.ts";

/** `refused`: what the code has called outside of a step, and did not get. Undefined: nothing. */
export function unlessRefused<Verdict extends UpgradeVerdict>(
  verdict: Verdict,
  refused: string | undefined,
): Verdict | ReplayVerdict {
  if (refused === undefined) return verdict;
  const asked = "asked" in verdict ? verdict.asked : [];
  const reason = `the code calls ${refused} outside of a step`;
  return { outcome: "blocks", position: 0, reason, expected: undefined, instead: [], asked };
}
