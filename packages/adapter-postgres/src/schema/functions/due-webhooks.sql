-- Returns the rows of webhooks that are enabled, not paused and have due deliveries, in the order of their
-- `seq`, at most `most_webhooks`. For each webhook returns the due times of its oldest first
-- attempts and retries.
--
-- The step from one webhook to the next is one descent of an index. Reads at most `most` deliveries
-- of each webhook. A floor is the oldest due time of a webhook at an earlier look: the scan starts
-- there and skips dead rows that a long snapshot keeps in the index.
create or replace function agent_messaging.due_webhooks(
  after bigint, up_to bigint, at bigint, most_webhooks bigint, most bigint, except_ids text[],
  floors jsonb)
returns table (webhook agent_messaging.webhooks, firsts json, retries json) rows 16
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set enable_sort = off set enable_incremental_sort = off
  set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  -- The planner would turn constants into conditions that the index does not have.
  a_first constant boolean := false;
  a_retry constant boolean := true;
begin
  perform agent_messaging.require_read_committed();
  return query
    with recursive step (seq) as (
      (select d.receiver_seq from agent_messaging.deliveries d
        where d.due_at is not null and d.receiver_seq > after and d.receiver_seq <= up_to
        order by d.receiver_seq, d.attempt_count > 0, d.due_at limit 1)
      union all
      select next.receiver_seq from step cross join lateral
        (select d.receiver_seq from agent_messaging.deliveries d
          where d.due_at is not null and d.receiver_seq > step.seq and d.receiver_seq <= up_to
          order by d.receiver_seq, d.attempt_count > 0, d.due_at limit 1) next)
    select ready.webhook, array_to_json(due.firsts), array_to_json(due.retries)
    from step
      cross join lateral
        (select w as webhook, w.* from agent_messaging.webhooks w where w.seq = step.seq offset 0) ready
      left join jsonb_to_recordset(floors) as known (seq bigint, floor bigint)
        on known.seq = step.seq
      cross join lateral (select
        array(select d.due_at from agent_messaging.deliveries d
          where d.receiver_seq = step.seq and (d.attempt_count > 0) = a_first
            and d.due_at between coalesce(known.floor, 0) and at
          order by d.due_at limit most) as firsts,
        array(select d.due_at from agent_messaging.deliveries d
          where d.receiver_seq = step.seq and (d.attempt_count > 0) = a_retry
            and d.due_at between coalesce(known.floor, 0) and at
          order by d.due_at limit most) as retries offset 0) due
    where not ready.is_deleted and ready.disabled_at is null and not ready.paused
      and (ready.circuit_until is null or ready.circuit_until <= at)
      and ready.id <> all(except_ids) and ready.project_id <> all(except_ids)
      and cardinality(due.firsts) + cardinality(due.retries) > 0
    limit most_webhooks;
end $$;
