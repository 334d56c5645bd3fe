/**
 * Faults that are planted into the SQL, and what then is wrong of the whole. The simulator has to find each of them:
 * `npm run simulate -- --planted` says by which seed. The first of them are played by the tests, too.
 */
import { readFileSync } from "node:fs";

export interface Planted {
  readonly what: string;
  /** The definition of the function that is wrong, from its name on. */
  readonly definition: string;
  readonly wrong: RegExp;
}

const prefix = "create or replace function layover.";
const noMail = "has_answer(run uuid) returns boolean language sql volatile as 'select false'";

export const planted: readonly [Planted, ...Planted[]] = [
  {
    what: "a run that parks overlooks signals",
    definition: noMail,
    wrong: /was sent and not taken|it waits at the end/,
  },
  {
    what: "an instant is due for which nobody armed",
    definition:
      "pick_due(armed jsonb, need timestamptz) returns timestamptz language sql stable as $$ select need + interval '5 minutes' $$",
    wrong: /the wake rule does not hold/,
  },
  {
    what: "a name is closed over a signal that came meanwhile",
    definition: "has_come(run uuid, epoch integer, f jsonb) returns boolean language sql volatile as 'select false'",
    wrong: /is closed, and a signal that came is not taken/,
  },
  {
    what: "an undo of a step that may have begun is left out",
    definition: "read_attempted(run uuid, epoch integer) returns json language sql volatile as $$ select '[]'::json $$",
    wrong: /is not owed/,
  },
  {
    what: "the end of an invoked run is kept from its undo",
    definition: `read_ends(p jsonb) returns json language sql volatile as $$
      select json_build_object('outcome', 'read', 'now', layover.to_ms(layover.now()), 'isMore', false, 'ends', '[]'::json) $$`,
    wrong: /has not recorded the end of/,
  },
  {
    what: "undos begin while a branch is at work",
    definition: "is_at_work(run uuid, at timestamptz) returns boolean language sql volatile as 'select false'",
    wrong: /it begins to undo, and the lease of .* stands/,
  },
  {
    what: "a step that a race has dropped leaves no attempt, so its undo is not owed",
    definition: `drop_rows(run uuid, prefixes text[] default '{""}') returns void language sql volatile as $$
      delete from layover.pending b where b.run_id = $1 and b.is_released and coalesce(b.leased_until <= layover.now(), true)
        and exists (select from unnest($2) as x (prefix) where starts_with(b.path, x.prefix)) $$`,
    wrong: /is not owed|was undone, and is not owed/,
  },
  {
    what: "a cleanup is lost when its run closes",
    definition: `release_all(run uuid, with_cleanups boolean) returns void language sql volatile as $$
      update layover.pending b set is_released = true, is_queued = false, is_counted = false, map = null where b.run_id = $1;
      delete from layover.map m where m.run_id = $1 $$`,
    wrong: /stands in a cleanup, and is gone unrecorded|is not over, and should be|ended within the cleanup/,
  },
  {
    what: "a cancelled run waits for ever",
    definition: `stops_at(t layover.run_state) returns timestamptz language sql stable as $$
      select case when t.cancel_requested_at is null and t.cancelled_position is null and t.ending_position is null then t.timeout_at end $$`,
    wrong: /it was cancelled, and (is not over|a turn of it began untold)|its cancel is gone|nobody did so|wake rule/,
  },
  {
    what: "a paused run goes on",
    definition: `may_run(t layover.run_state, at timestamptz) returns boolean language sql stable as $$
      select t.blocked is null and t.refused_by is null and not t.is_closing and coalesce(layover.stops_at(t) > at, true) $$`,
    wrong: /it is paused, and something began|more records|wake rule/,
  },
  {
    what: "the slot of a branch that has ended is lost",
    definition:
      "ready_queued(run uuid, map text, ready_at timestamptz) returns json language sql volatile as 'select null::json'",
    wrong: /it waits at the end|is not over/,
  },
  {
    what: "a restart does not give back the signals that were taken after the cut",
    definition:
      "untake_mail(run uuid, epoch integer, kept integer[], segments jsonb) returns void language sql volatile as 'select'",
    wrong:
      /was acknowledged, and is not there|was taken by no record that holds it|one record took two|its signal is lost/,
  },
  {
    what: "a run that begins anew keeps what it waited for",
    definition: `cut_segments(segments jsonb, kept integer[], next jsonb) returns jsonb language sql immutable as $$
      select jsonb_build_array(next || '{"from": 0}') $$`,
    wrong: /it is blocked|it waits at the end|is not that of its code/,
  },
  {
    what: "the end of a run is lost that its parent waits for",
    definition: "tell_parent(child uuid, armed jsonb) returns json language sql volatile as 'select null::json'",
    wrong: /it waits at the end, for a child|is not over|it waits for child .* that is over/,
  },
  {
    what: "the end of a run is told twice, since the wait for it stays",
    definition: `end_waits(run uuid, seen integer, records jsonb) returns void language sql volatile as $$
      delete from layover.pending b where b.run_id = $1 and (b.position <= $2 or b.position is null and b.kind <> 'child'
        and exists (select from jsonb_array_elements(coalesce($3, '[]')) as h (item)
          where b.path = h.item->>'path' and b.occurrence = (h.item->>'occurrence')::integer)) $$`,
    wrong:
      /waits for child .* which the code does not ask for|two records have one place|the wake rule does not hold|more than \d+ events/,
  },
  {
    what: "mail is lost when a run continues as new",
    definition: `forget_epochs(run uuid, first_kept integer) returns void language sql volatile as $$
      delete from layover.record h where h.run_id = $1 and h.epoch < $2;
      delete from layover.signal g where g.run_id = $1 and g.position is null $$`,
    wrong: /was acknowledged, and is not there/,
  },
  {
    what: "a transaction is committed under a token that is void",
    definition:
      "finish_once(p jsonb) returns json language sql volatile as $$ select layover.finish_turn(p, p->'turn') $$",
    wrong: /the transaction with the key .* (has no record|wrote nothing)|a transaction was committed twice/,
  },
  {
    what: "the end of a run's own time overtakes its cancel",
    definition: "ends_in_time(t layover.run_state, records jsonb) returns boolean language sql stable as 'select true'",
    wrong: /cancelled/,
  },
  {
    what: "the time of a pause counts to the timeout of the run",
    definition: changed(
      "client/entries/resume_run.sql",
      "timeout_at = t.timeout_at + greatest(v_now - t.paused_at, interval '0')",
      "timeout_at = t.timeout_at",
    ),
    wrong: /its timeout was not put off by its pause/,
  },
  {
    what: "the URL of a callback dies with its epoch, though its wait goes on",
    definition: `is_epoch_alive(run uuid, epoch integer, p jsonb) returns boolean language sql stable as $$
      select (p->>'epoch')::integer = epoch $$`,
    wrong: /it waits at the end, for a callback|is not over|more than \d+ events/,
  },
  {
    what: "a deleted run leaves its signals behind",
    definition: changed("scheduler/delete_rows.sql", "delete from layover.signal g where g.run_id = run;", ""),
    wrong: /rows belong to no run/,
  },
  {
    what: "a start that comes late brings a deleted run back",
    definition: changed("client/entries/delete_run.sql", /insert into layover.deletion[^;]*;/, ""),
    wrong: /was deleted, and is there/,
  },
  {
    what: "what a fork has copied is undone by the fork",
    definition: changed(
      "epoch/entries/fork_run.sql",
      "layover.segments_of(v_run, s.epoch), v_positions",
      "replace(layover.segments_of(v_run, s.epoch)::text, v_run::text, v_new::text)::jsonb, v_positions",
    ),
    wrong: /which it has copied/,
  },
  {
    what: "a step that may be carried out at most once is so again, since its beginning is not written down",
    definition: changed("run/move_leases.sql", /coalesce\(i\.turn->>'begins', (.)\.begun\)/g, "$1.begun"),
    wrong: /carried out twice/,
  },
  {
    what: "a delivery that comes again is carried out again",
    definition: changed("webhook/entries/receive_delivery.sql", "not p ? 'replay' then", "false then"),
    wrong: /the delivery of .* was done \d+ times/,
  },
  {
    what: "what is kept for a run is deleted by its first claim, and not given to it",
    definition: changed("webhook/take_kept.sql", "from gone g order by", "from gone g where false order by"),
    wrong: /it is done, and its signal is lost/,
  },
  {
    what: "what a run was given stays kept, and is given to it again",
    definition: changed(
      "webhook/take_kept.sql",
      "delete from layover.kept_signal u using layover.run r",
      "update layover.kept_signal u set due_at = layover.now() from layover.run r",
    ).replace("g.id, g.dedupe_id", "layover.new_id(), null"),
    wrong: /the signal \d+ came twice|is kept still|its signal came, and it is refused/,
  },
  {
    what: "a run is moved to another version while somebody works at it",
    definition: changed("replay/entries/upgrade_run.sql", "elsif s.busy_until is not null then", "elsif false then"),
    wrong: /moved to another version, and a lease stands/,
  },
  {
    what: "a run that is moved to another version keeps its turn",
    definition: changed("replay/entries/upgrade_run.sql", "set turn = t.turn + 1,", "set turn = t.turn,"),
    wrong: /moved to another version, and its turn is the old one/,
  },
  {
    what: "values are put into the store before any row names them",
    definition: `hold_values(p jsonb) returns json language sql volatile as $$ select '{"outcome": "held"}'::json $$`,
    wrong: /no row says that it holds one of its values|a value that no row names/,
  },
  {
    what: "a fork does not hold the values of the run whose history it has",
    definition: "share_values(of_run uuid, with_run uuid) returns void language sql volatile as 'select'",
    wrong: /no row says that it holds one of its values|lost one of its values|it is blocked/,
  },
];

/** The definition of a function with one place changed, by its file under src/postgres/functions. */
export function changed(file: string, from: string | RegExp, to: string): string {
  const text = readFileSync(new URL(`../../src/postgres/functions/${file}`, import.meta.url), "utf8");
  const definition = text.slice(text.indexOf(prefix) + prefix.length);
  const edited = definition.replace(from, to);
  if (edited === definition) throw new Error(`${file} does not hold ${from}`);
  return edited;
}
