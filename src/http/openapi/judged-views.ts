/** What is judged of runs by the code of a deployment, as JSON Schema. */
import type { Asked } from "../../engine/replay/replay-stored.ts";
import type { Judged, Judgements, Parked } from "../replay-check/judge.ts";
import type { LookedAt, MoveJudgements } from "../replay-check/judge-move.ts";
import type { Build } from "../replay-check/mount.ts";
import { described, integer, list, object, oneOf, optional, record, text, uuid } from "./schema.ts";

/** All fields that a verdict may have. */
interface Verdict {
  readonly runId: string;
  readonly outcome: Judged["outcome"];
  readonly position: number | undefined;
  readonly reason: string | undefined;
  readonly expected: string | undefined;
  readonly instead: readonly Asked[] | undefined;
}

/** All fields that a verdict about a move may have. */
interface MoveVerdict {
  readonly runId: string;
  readonly outcome: LookedAt["outcome"];
  readonly reason: string | undefined;
  readonly signature: string | undefined;
  readonly epoch: number | undefined;
  readonly turn: number | undefined;
  readonly position: number | undefined;
  readonly lastMail: number | undefined;
}

const build = described(
  "The build whose code has judged: the name of its host, and its id.",
  object<Build>({ name: text, id: text }),
);

export const judgedViews = {
  ParkedPage: object<Parked>({
    deployment: build,
    versions: described("The versions that this deployment carries, by workflow.", record(list(integer))),
    runs: list(
      object<Parked["runs"][number]>({
        runId: uuid,
        workflow: text,
        version: integer,
        digest: described("The same for runs whose histories have the same places.", text),
      }),
    ),
    cursor: optional(text),
  }),
  Judgements: object<Judgements>({
    deployment: build,
    verdicts: list(
      object<Verdict>({
        runId: uuid,
        outcome: described(
          "`blocks`: the code does not ask for what the history holds. `ends`: it ends otherwise than the run. `over`: the run has ended, or was deleted. `elsewhere`: this deployment does not carry its version.",
          oneOf("fits", "blocks", "ends", "over", "elsewhere"),
        ),
        position: optional(described("The last position that fits.", integer)),
        reason: optional(text),
        expected: optional(described("What the history holds next.", text)),
        instead: optional(
          described(
            "What the code asks for instead.",
            list(object<Asked>({ place: text, kind: text, after: integer, line: optional(text) })),
          ),
        ),
      }),
    ),
    left: described("For another request: there was no time.", list(uuid)),
  }),
  MoveJudgements: object<MoveJudgements>({
    deployment: build,
    verdicts: list(
      object<MoveVerdict>({
        runId: uuid,
        outcome: described(
          "`fits`: it may be moved, as it was looked at. `refused`: a value or a schema of the other version does not fit. `blocks`, `ends`: as of a replay. `left`: somebody works at it, or it has gone on. `over`: it has ended, was deleted, or is of another version by now.",
          oneOf("fits", "refused", "blocks", "ends", "left", "over"),
        ),
        reason: optional(text),
        signature: optional(described("That of the other version's contract, for the move.", text)),
        epoch: optional(integer),
        turn: optional(integer),
        position: optional(integer),
        lastMail: optional(integer),
      }),
    ),
    left: described("For another request: there was no time.", list(uuid)),
  }),
};
