-- Returns the webhooks that subscribe to each event, with any filter, by the place of the event.
-- Each batch of answers asks for them, so a function with cached plans replaces a statement that is
-- planned each time. `webhook_version` counts a
-- webhook's version.
create or replace function agent_messaging.subscribers(topics jsonb)
returns table (place bigint, version text, webhook agent_messaging.webhooks)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set lock_timeout = '10s' as $$
#variable_conflict use_column
begin
  return query
    select topic.ordinality, w.seq || ':' || w.version, w
    from rows from (jsonb_to_recordset(topics) as ("projectId" text, names text[]))
        with ordinality as topic
      join agent_messaging.subscriptions s
        on s.project_id = any(array[topic."projectId"]) and s.event = any(topic.names)
      join agent_messaging.webhooks w on w.seq = any(array[s.webhook_seq])
    order by topic.ordinality, w.seq;
end $$;
