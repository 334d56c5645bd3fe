-- How many turns one claim may take together, if one of them has lost so many leases. Null: any number. A turn that lost one lease is
-- most often innocent: it was at work beside the turn that killed the process.
create or replace function layover.group_size(lost integer, spared integer, is_leased boolean) returns integer
language sql immutable as $$
  select case when lost + is_leased::integer - spared >= 4 then 1
    when lost + is_leased::integer - spared = 3 then 4
    when lost + is_leased::integer - spared = 2 then 16 end
$$;
