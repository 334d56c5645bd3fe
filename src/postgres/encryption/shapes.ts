/**
 * Where values stand in what the SQL functions take and answer: the one list of what is encrypted. README.md beside this file
 * says it in words. A function that is not listed takes and answers no value.
 */

/**
 * What a text is.
 *
 * Bound to their run: `callback` (an answer), `status` (what a run says of itself). Bound to their place in a run, which a fork
 * keeps: `record` (a result, or the error of a step), `attempt` (the error of one). Bound to their webhook: `json` (headers and
 * event of a delivery). Bound to none, since they move to other runs: `input`, `signal`, `end` (a run's result or error),
 * `reason` (a person's, or why a delivery was not carried out), `why` (why a run does not get on; the same text gives the same
 * envelope, since `doctor` groups by it).
 */
export type Kind =
  | "input"
  | "signal"
  | "callback"
  | "record"
  | "attempt"
  | "end"
  | "status"
  | "why"
  | "reason"
  | "json";

/** How values lie in a json. */
export type Shape =
  /** A text. */
  | Kind
  /** The `value` of a finish: it is why the run is blocked, or how it ends. */
  | "outcome"
  /** A record as a list: kind, path, occurrence, whether it is a failure, value … */
  | "tuple"
  /** The MAC by which the same value is known again. Its source is the field `encodedInput` or `value` beside it. */
  | "same"
  /** A list. */
  | readonly [Shape]
  /** An object. The field `*` stands for all fields. */
  | { readonly [field: string]: Shape };

type Shapes = Readonly<Record<string, Shape>>;

const input = { encodedInput: "input", sent: "same" } as const;
const signal = { encodedPayload: "signal" } as const;
const schedule = { definition: input, pausedReason: "reason" } as const;
const reason = { reason: "reason" } as const;

const finish = {
  value: "outcome",
  blocked: "why",
  setback: "why",
  endsAs: { value: "end" },
  records: [{ value: "record" }],
  record: { value: "record" },
  children: [{ input: "input" }],
  attempt: { error: "attempt" },
  continues: "input",
  input: "input",
  says: [{ value: "status" }],
} as const satisfies Shape;

export const calls: Shapes = {
  start_run: input,
  send_signal: signal,
  signal_with_start: { ...input, ...signal },
  answer_callback: { value: "callback", sent: "same" },
  pause_run: reason,
  resume_run: reason,
  cancel_run: reason,
  terminate_run: reason,
  delete_run: reason,
  operate_runs: { ...reason, signal },
  export_run: reason,
  upgrade_run: reason,
  pause_workflow: reason,
  resume_workflow: reason,
  pause_schedule: reason,
  trigger_schedule: reason,
  retry_run: { ...reason, results: [{ value: "record" }], signal },
  restart_run: { ...reason, encodedInput: "input" },
  fork_run: { encodedInput: "input" },
  create_schedule: { definition: input },
  note_deployment: { schedules: { "*": input } },
  receive_delivery: {
    deeds: [{ ...input, ...signal }],
    headers: "json",
    event: "json",
    refused: "reason",
    failed: "reason",
    replay: reason,
  },
  finish_turns: { turns: [finish] },
  finish_once: { turn: finish },
  renew_leases: { turns: [{ says: "status" }] },
};

const claimed = {
  run: { input: "input" },
  records: ["tuple"],
  signals: [{ payload: "signal" }],
  callbacks: [{ value: "callback" }],
  children: { ends: [{ value: "end" }] },
  endsAs: { value: "end" },
  attempted: [{ error: "attempt" }],
} as const satisfies Shape;

const run = {
  customStatus: "status",
  input: "input",
  result: "end",
  error: "end",
  blocked: "why",
  setback: { reason: "why" },
  refusedBy: [{ why: "why" }],
} as const satisfies Shape;

const replay = {
  records: ["tuple"],
  rest: { blocked: "why", result: "end", error: "end", run: { input: "input" }, attempts: [{ error: "attempt" }] },
} as const satisfies Shape;

const delivery = { ...reason, headers: "json", event: "json", replays: [reason] } as const satisfies Shape;

export const answers: Shapes = {
  claim_turns: { turns: [claimed] },
  finish_turns: { turns: [{ claim: claimed }] },
  read_page: { records: ["tuple"] },
  read_ends: { ends: [{ value: "end" }] },
  renew_leases: { turns: [{ cancel: reason }] },
  get_run: run,
  list_runs: { runs: [run] },
  get_history: { records: [{ value: "record" }], attempts: [{ error: "attempt" }], operations: [reason] },
  read_replay: replay,
  read_mail: { signals: [{ payload: "signal" }] },
  export_run: replay,
  receive_delivery: reason,
  get_delivery: delivery,
  list_deliveries: { deliveries: [delivery] },
  create_schedule: { schedule },
  pause_schedule: { schedule },
  resume_schedule: { schedule },
  delete_schedule: { schedule },
  adopt_schedule: { schedule },
  trigger_schedule: { schedule },
  get_schedule: schedule,
  list_schedules: { schedules: [schedule] },
  diagnose: { troubles: [{ reason: "why" }], pausedWorkflows: [reason], schedules: [schedule] },
};
