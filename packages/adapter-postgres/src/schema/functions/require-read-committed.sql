-- Fails unless the transaction is READ COMMITTED. Only then does each statement of a function see
-- rows that were committed before the previous statement got its locks.
create or replace function agent_messaging.require_read_committed() returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'agent_messaging needs read committed'
      using errcode = 'invalid_transaction_state';
  end if;
end $$;
