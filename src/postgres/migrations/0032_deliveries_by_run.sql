--! concurrent
-- Without a list of what is yet to be sorted in (fastupdate): each search would read all of that list.
create index concurrently delivery_of_run on layover.delivery using gin (jsonb_path_query_array(deeds::jsonb, '$[*].runId')) with (fastupdate = off) where event is not null;
