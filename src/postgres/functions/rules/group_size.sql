-- With how many others a turn may go whose leases were lost, itself included. Null: with any number. One that lost a single
-- lease is most often innocent: it was at work beside whoever killed the process.
create or replace function layover.group_size(lost integer, spared integer, is_leased boolean) returns integer
language sql immutable as $$
  select case when lost + is_leased::integer - spared >= 4 then 1
    when lost + is_leased::integer - spared = 3 then 4
    when lost + is_leased::integer - spared = 2 then 16 end
$$;
