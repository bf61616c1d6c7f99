/**
 * Of a hot function. Its plans go by the indexes from the first row on, whatever is known about the tables (nothing, at first), and
 * the costs that say so must not look like work for the compiler. Nobody waits for ever for another's lock.
 */
export const HOT = `
  language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '10s'`

/** Of a claim, whose index gives the longest due first: it is not to read all that is due, and sort it. */
export const HOT_CLAIM = `${HOT} set enable_sort = off`

/** Each statement of a function is to see what is committed when it begins: what it decides on was locked by the one before. */
export const requireReadCommitted = `
create function agent_messaging.require_read_committed() returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'agent_messaging needs read committed' using errcode = 'invalid_transaction_state';
  end if;
end $$;
`
