-- Cuts the items of a call, in lock order, into stretches. Plain items go together, as a set: runs in a row, or branches of one run.
-- Each item that needs more goes alone, in its place. So locks are taken in the one order with sets too.
--
-- Plain is: the claim of a run that is ready and has no pending rows, the finish of a run that goes on or ends and does nothing else,
-- the claim of a branch, the result of a branch. A finish that goes in a set records steps only, as a set asks no kind. It looks without a lock. If a run has moved since, its set raises, and all is done
-- again item by item (are_sets: false).
create or replace function layover.in_stretches(turns jsonb, are_sets boolean)
returns table (set text, items jsonb[], places bigint[])
language plpgsql volatile set enable_indexscan = on set enable_seqscan = off as $$
declare
  v_now constant timestamptz := layover.now();
  v_items  jsonb[];
  v_places bigint[];
  v_sets   text[]; -- the set that each item may go to: null, 'runs', or the run of the branches
  v_keys   text[]; -- an item that comes twice is done twice, one after the other
  v_first  integer := 1;
  v_last   integer;
begin
  select array_agg(o.turn), array_agg(o.place), array_agg(o.set), array_agg(o.key)
    into v_items, v_places, v_sets, v_keys
    from (
      select i.turn, i.place, case
          when not are_sets then null
          when i.turn ? 'path' then case when i.turn ? 'record' and not i.turn ?| '{attempt,blocked,says}'
            or i.turn->'alone' = 'false' then i.turn->>'runId' end
          else (select case when case when i.turn ? 'next'
                then t.token = (i.turn->>'token')::uuid and t.last_position = (i.turn->>'position')::integer
                  and layover.goes_on(t, v_now) and i.turn->>'next' not in ('parked', 'blocked')
                  and not i.turn ?| '{attempt,demands,children,released,closes,announces,closing,ending,endsAs,failedUndos,failure,continues,patches,input}'
                  and not (t.has_parent and layover.is_over(i.turn->>'next'))
                  and i.turn->'records' @? '$[*] ? (@.kind != "step")' is not true
                else t.status = 'parked' and t.turn = (i.turn->>'turn')::integer and t.ready_at <= v_now
                  and t.lost < 2 and not t.has_pending and layover.may_run(t, v_now) end then 'runs' end
              from layover.run_state t where t.run_id = (i.turn->>'runId')::uuid)
          end as set, concat_ws('#', i.turn->>'runId', i.turn->>'path', i.turn->>'occurrence') as key
        from layover.in_lock_order(turns) as i
    ) as o;
  while v_first <= cardinality(v_items) loop
    v_last := v_first;
    while v_sets[v_last + 1] = v_sets[v_first] and v_keys[v_last + 1] <> v_keys[v_last] loop
      v_last := v_last + 1;
    end loop;
    set := case when v_last > v_first then v_sets[v_first] end;
    items := v_items[v_first:v_last];
    places := v_places[v_first:v_last];
    return next;
    v_first := v_last + 1;
  end loop;
end $$;
