-- Makes the first waiting delivery of each order key due, if no other one with that key is open.
-- Returns the keys. Call it after a statement that ended deliveries which were not waiting. A plain
-- condition on `due_at` would let the planner read the whole index `deliveries_due`.
create or replace function agent_messaging.advance_orders(order_keys text[], at bigint)
returns setof text
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_incremental_sort = off as $$
#variable_conflict use_column
begin
  perform agent_messaging.lock_orders(order_keys);
  return query
    with next as materialized (
      select waiting.id
      from unnest(order_keys) as given (order_key)
        cross join lateral (
          select d.due_at from agent_messaging.deliveries d
          where d.order_key between given.order_key and given.order_key
            and d.order_key is not null and d.finished_at is null
          order by d.order_key, d.seq limit 1) first
        -- A locked row that no longer waits when its transaction commits is passed over.
        cross join lateral (
          select d.id from agent_messaging.deliveries d
          where d.order_key between given.order_key and given.order_key
            and d.order_key is not null and d.finished_at is null
            and coalesce(d.due_at, 0) = 9007199254740991
          order by d.order_key, d.seq limit 1 for update) waiting
      where first.due_at = 9007199254740991)
    update agent_messaging.deliveries d set due_at = at
    from next where d.id = any(array[next.id]) returning d.order_key;
end $$;
