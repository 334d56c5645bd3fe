-- What other deployments declare under this name: their definitions, by the name of the deployment. Null: none does. It takes the place of
-- `rival`, which had one of them, and only if it was another definition.
alter table layover.schedule add column declarations jsonb;
update layover.schedule set declarations = jsonb_build_object(rival->>'owner', rival->'definition') where rival is not null;
-- Who declares the same as the owner was not written down. Where that may be so, the newest build of each name declares anew at its next tick.
update layover.deployment d set has_declared = false
 where exists (select from layover.schedule v where v.namespace = d.namespace and v.owner <> d.name)
   and not exists (
     select from layover.deployment o where o.namespace = d.namespace and o.name = d.name and o.declared_at > d.declared_at);
