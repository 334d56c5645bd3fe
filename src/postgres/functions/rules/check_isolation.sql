-- Refuses a transaction whose isolation is not read committed. Only read committed gives each statement a snapshot of its own, which is
-- needed to look after the lock.
create or replace function layover.check_isolation() returns void
language plpgsql volatile as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'layover needs isolation level read committed, not %', current_setting('transaction_isolation')
      using errcode = 'LO001', hint = format(
        'If you began the transaction, begin it with isolation level read committed. If nobody did, the role has another '
        'default: alter role %I set default_transaction_isolation = ''read committed''.', session_user);
  end if;
end $$;
