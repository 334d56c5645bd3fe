import { expect, test } from "vitest";
import { describeSomePostgres } from "../postgres/database.ts";
import { Crowd } from "./crowd.ts";
import { stageOn } from "./stage.ts";

/** What must never be, as queries that find it. */
const impossible = {
  "a history whose end is not where the run says": `
    select s.run_id from layover.run_state s
     where s.last_position <> (select count(*) from layover.record h where h.run_id = s.run_id)
        or s.last_position <> (select coalesce(max(h.position), 0) from layover.record h where h.run_id = s.run_id)`,
  "a place that is recorded twice": `
    select h.run_id, h.path from layover.record h group by h.run_id, h.path, h.occurrence having count(*) > 1`,
  "a recorded branch whose record is elsewhere": `
    select b.path, b.position from layover.pending b where b.position is not null and not exists (
      select from layover.record h where h.run_id = b.run_id and h.position = b.position and h.path = b.path)`,
  "a place that is waited for though it is recorded": `
    select b.path from layover.pending b join layover.record h using (run_id, path, occurrence) where b.position is null`,
  "a map that waits for another number of branches than there are": `
    select m.path, m.counted from layover.map m where m.counted <> (
      select count(*) from layover.pending b where b.run_id = m.run_id and b.map = m.path and b.is_counted)`,
  "a map with other free slots than its branches leave": `
    select m.path, m.slots from layover.map m
     where m.slots <> substring(m.path from '/(\\d+)$')::integer - (select count(*) from layover.pending b
       where b.run_id = m.run_id and b.map = m.path and not b.is_queued and b.position is null)`,
  "a branch in a queue though its map has a free slot": `
    select b.path from layover.pending b join layover.map m on m.run_id = b.run_id and m.path = b.map
     where b.is_queued and m.slots > 0`,
  "a branch in a queue that nobody will hand a slot to": `
    select b.path from layover.pending b where b.is_queued and not exists (
      select from layover.pending c where c.run_id = b.run_id and c.map = b.map and not c.is_queued and c.position is null)`,
  "a pending row or a message that the run does not know of": `
    select s.run_id from layover.run_state s
     where not s.has_pending and exists (select from layover.pending b where b.run_id = s.run_id)
        or not s.has_mail and s.ended_at is null and exists (
          select from layover.signal g where g.run_id = s.run_id and g.position is null)`,
  "a run that nobody will look at again": `
    select s.run_id from layover.run_state s
     where s.ended_at is null and s.blocked is null and s.due_at is null and (s.ready_at is not null
       or s.token is not null or exists (select from layover.pending b where b.run_id = s.run_id and b.kind = 'branch'
         and b.position is null and not b.is_queued and not b.is_released))`,
  "a parked run that has an answer and is not ready": `
    select s.run_id from layover.run_state s
     where s.status = 'parked' and s.blocked is null and layover.has_answer(s.run_id)
       and (s.ready_at is null or s.ready_at > layover.now())`,
  "a message taken by no record, or by two": `
    select g.number from layover.signal g where g.position is not null and (not exists (
        select from layover.record h where h.run_id = g.run_id and h.position = g.position and h.kind = 'signal')
      or exists (select from layover.signal o where o.run_id = g.run_id and o.position = g.position and o.id <> g.id))`,
  "rows of no run": `
    select run_id from (select run_id from layover.run_state union select run_id from layover.record
        union select run_id from layover.pending union select run_id from layover.map
        union select run_id from layover.signal union select run_id from layover.callback) as t
     where not exists (select from layover.run r where r.id = t.run_id)`,
};

/** Otherwise it was no crowd. */
const everyKindOfMeeting = [
  ...["claim claimed", "claim busy", "claim stale", "claim superseded", "claim over"],
  ...["run finished", "run deferred", "branch finished", "branch superseded"],
];

describeSomePostgres(
  "a crowd that plays every transition on the same three runs",
  (database) => {
    const stage = stageOn(database, {
      breaks: ["a signal is taken once, by a record of its kind with its payload"],
      isInRealTime: true,
    });

    test("never deadlocks, never fails, and leaves what it was told", async () => {
      const crowd = new Crowd(stage, { runs: 3 });
      await crowd.play({ players: 12, rounds: 500 });
      const { errors, finished, holders, recorded, dropped, outcomes } = crowd.told;
      expect(errors).toEqual([]);
      expect([...outcomes.keys()]).toEqual(expect.arrayContaining(everyKindOfMeeting));
      for (const [name, query] of Object.entries(impossible)) {
        expect.soft(await stage.look(query), name).toEqual([]);
      }
      for (const [turn, tokens] of holders) expect.soft([...tokens], `who holds ${turn}`).toHaveLength(1);
      for (const [turn, tokens] of finished) expect.soft([...tokens], `who finished ${turn}`).toHaveLength(1);
      const rows = await stage.look(
        "select id, array(select path from layover.record where run_id = id) as paths from layover.run",
      );
      for (const { id, paths } of rows) {
        expect.soft(paths, "recorded").toEqual(expect.arrayContaining([...(recorded.get(String(id)) ?? [])]));
        for (const path of dropped.get(String(id)) ?? []) expect.soft(paths, "dropped").not.toContain(path);
      }
    });
  },
  { perTest: true },
);
