-- When what a build declares (its schedules) was taken over last. Null: it has declared nothing since it was noted.
alter table layover.deployment add column declared_at timestamptz;
update layover.deployment set declared_at = deployed_at where has_declared;
