/** Faults that are planted into the SQL of schedules, one at a time, and what then is wrong. Each has to be found. */
import { changed, type Planted } from "../planted.ts";

const fire = "schedule/fire_schedule.sql";
const start = "schedule/start_scheduled.sql";
const write = "schedule/write_schedule.sql";
const firing = "schedule/entries/fire_schedules.sql";

export const planted: readonly Planted[] = [
  {
    what: "a schedule does not move on when it is fired",
    definition: changed(
      fire,
      "set next_at = v.next_at, fires_at = v.fires_at, due_at = v.due_at, last_at",
      "set last_at",
    ),
    wrong: /next is .* instead of|is to start, and was there/,
  },
  {
    what: "the id of a run does not name its instant",
    definition: changed(
      fire,
      /v\.name \|\| '@' \|\| to_char\([^;]*?'YYYY[^']*?"T"[^']*'\)/,
      "v.name || '@' || v.fired",
    ),
    wrong: /the run .* did not start/,
  },
  {
    what: "an instant is due for which nobody armed",
    definition: changed(
      "schedule/set_calendar.sql",
      "layover.pick_due(armed, v.fires_at)",
      "v.fires_at + interval '3 minutes'",
    ),
    wrong: /the wake rule does not hold|it is due at/,
  },
  {
    what: "a skip is counted twice",
    definition: changed("schedule/skip_firing.sql", "v.skipped := v.skipped + 1", "v.skipped := v.skipped + 2"),
    wrong: /skipped is \d+ instead of/,
  },
  {
    what: "a schedule that is resumed is not looked at",
    definition: changed(
      "schedule/entries/resume_schedule.sql",
      ", due_at = layover.pick_due(p->'armed', o.fires_at)",
      "",
    ),
    wrong: /it is due at never instead of|is due never|nobody looks at it/,
  },
  {
    what: "a schedule is not looked at after the pause of its workflow",
    definition: changed(
      "schedule/try_resume_schedules.sql",
      "due_at = layover.pick_due(p->'armed', o.fires_at)",
      "due_at = o.due_at",
    ),
    wrong: /it is due at never instead of|is due never|nobody looks at it/,
  },
  {
    what: "a schedule whose workflow is paused is fired",
    definition: changed(firing, "q.resumed_at is null)", "false)"),
    wrong: /the run .* started/,
  },
  {
    what: "a firing overlaps with the last run",
    definition: changed(start, "if v_open is not null then", "if false then"),
    wrong: /the run .* started/,
  },
  {
    what: "a firing overlaps with a run that is not the last one",
    definition: changed("schedule/find_open_run.sql", "o.schedule = v.name", "false"),
    wrong: /the run .* started/,
  },
  {
    what: "a firing overlaps with a run that was forgotten while it was over, and was restarted",
    definition: changed("epoch/begin_epoch.sql", "perform layover.note_scheduled_run(run);", ""),
    wrong: /the run .* started/,
  },
  {
    what: "a run is forgotten while it is at work",
    definition: changed("schedule/forget_ended_runs.sql", "and t.ended_at is null)", "and false)"),
    wrong: /the run .* started/,
  },
  {
    what: "an edit fires an instant again that was fired",
    definition: changed(
      write,
      "greatest(v.last_at, least(v_now, v.next_at - interval '1 millisecond'))",
      "v_now - interval '1 hour'",
    ),
    wrong: /next is .* instead of/,
  },
  {
    what: "an edit loses the instant that is put off by its jitter",
    definition: changed(write, "least(v_now, v.next_at - interval '1 millisecond')", "v_now"),
    wrong: /next is .* instead of/,
  },
  {
    what: "a deploy ends the pause of a schedule",
    definition: changed(write, "owner = v.owner,", "owner = v.owner, paused_at = null,"),
    wrong: /isPaused is false instead of true/,
  },
  {
    what: "a schedule of a paused workflow is not looked at when it gets another one",
    definition: changed(write, /v\.due_at := coalesce\(v\.due_at[^;]*;/, ""),
    wrong: /it is due at never instead of/,
  },
  {
    what: "all that was missed is fired, whatever there is",
    definition: changed(fire, "v_count = 100 or", ""),
    wrong: /the run .* started/,
  },
  {
    what: "an instant is fired with the one before it, though its jitter puts it off",
    definition: changed("schedule/last_instant.sql", "if v_last > first and", "if false and"),
    wrong: /the run .* started/,
  },
  {
    what: "jitter is counted twice",
    definition: changed(
      "schedule/set_calendar.sql",
      "v.next_at + layover.jitter_of(v.name, v.definition, v.next_at)",
      "v.next_at + 2 * layover.jitter_of(v.name, v.definition, v.next_at)",
    ),
    wrong: /fires is .* instead of/,
  },
  {
    what: "another deployment takes over a schedule that nobody has given to it",
    definition: changed(
      "schedule/declare_schedules.sql",
      "elsif found and v.owner is distinct from v_owner",
      "elsif false",
    ),
    wrong: /its definition is another one|owner is "elsewhere" instead of/,
  },
  {
    what: "an adopted schedule keeps its old owner",
    definition: changed(write, "set owner = v.owner, definition", "set owner = coalesce(o.owner, v.owner), definition"),
    wrong: /owner is "server" instead of/,
  },
  {
    what: "a schedule that another deployment declares, too, is deleted with its owner's declaration",
    definition: changed("schedule/give_up_schedule.sql", "if v_heir is null then", "if true then"),
    wrong: /it is gone/,
  },
  {
    what: "an instant is fired before it has come",
    definition: changed(firing, "elsif v.fires_at > v_now then", "elsif false then"),
    wrong: /the run .* started/,
  },
];
