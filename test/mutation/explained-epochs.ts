/** The mutants of forks, restarts, retries and laps that nobody finds out. */
import type { Explanation } from "./explained.ts";

export const ofEpochs: readonly Explanation[] = [
  {
    why: "check_key lets a call pass that names no key.",
    mutants: ["fork_run: p ? 'keyId' → true", "restart_run: p ? 'keyId' → true", "retry_run: p ? 'keyId' → true"],
  },
  {
    why: "The number of a signal is unique in the table.",
    mutants: ["take_back_retry: g.run_id = run → true (2)"],
  },
  {
    why: "Of an epoch that has ended, nobody reads which signal came with it.",
    mutants: ["retry_run: e.epoch = s.epoch + 1 → true"],
  },
  {
    why: "Only the first epoch of a fork has this reason.",
    mutants: ["fork_run: e.epoch = 1 → true"],
  },
  {
    why: "A fork that was just made has no other epoch.",
    mutants: ["fork_run: h.epoch = 1 → true"],
  },
  {
    why: "Costs time only: where nothing is undone, no record is found.",
    mutants: [
      "refuse_cut: cardinality(v_undone) > 0 → true",
      "refuse_cut: (v_undone) > 0 and h → (v_undone) >= 0 and h",
    ],
  },
  {
    why: "`select into` takes the first row.",
    mutants: ["refuse_cut: limit 1 → nothing"],
  },
  {
    why: "Costs time only: the next claim finds no mail where there is none.",
    mutants: ["begin_epoch: g.position is null → true", "begin_epoch: k.position is null → true"],
  },
  {
    why: "Whoever cuts a history gives a shift: a fork is made of a run that is over, and begin_epoch has a `coalesce` of its own.",
    mutants: ["cut_segments: coalesce((next->>'shift')::bigint, 0) → coalesce((next->>'shift')::bigint)"],
  },
  {
    why: "When a retry is taken back, nobody has taken an answer since: its first turn did not come to its end.",
    mutants: ["describe_before: k.position is not null → true"],
  },
  {
    why: "Writes null where null stands.",
    mutants: ["keep_timeout: t.timeout_at is not null → true", "untake_mail: k.position is not null → true"],
  },
  {
    why: "A place belongs to one kind: names are counted over all kinds.",
    mutants: ["untake_mail: h.kind = 'callback' → true", "untake_mail: h.kind = 'callback' → true (2)"],
  },
  {
    why: "The record of an ending is no failure.",
    mutants: ["retry_run: h.position > s.ending_position → h.position >= s.ending_position"],
  },
  {
    why: "Costs time only: without an ending there is no record to arrange.",
    mutants: ["retry_run: s.ending_position is not null → true (2)"],
  },
];
