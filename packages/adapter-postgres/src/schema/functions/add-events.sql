-- Inserts events in their order, each with its deliveries. Returns the ids of deliveries that wait in
-- their order. The caller has locked what decides about the events.
create or replace function agent_messaging.add_events(events jsonb)
returns text[]
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set lock_timeout = '1s' as $$
declare
  order_keys text[];
begin
  order_keys := array(
    select jsonb_path_query(events, '$[*].deliveries[*].orderKey') #>> '{}');
  if cardinality(order_keys) > 0 then
    perform agent_messaging.lock_orders(order_keys);
  end if;
  with heard as materialized (
    select e.*, nextval('agent_messaging.events_seq_seq') as seq
    from rows from (jsonb_to_recordset(events) as (id text, "projectId" text, "messageId" text,
        "sessionId" text, name text, body text, trace text, "endUserId" text, "agentId" text,
        fingerprint text, "createdAt" bigint, deliveries jsonb)) with ordinality as e
    order by e.ordinality),
  told as (
    insert into agent_messaging.events (seq, id, project_id, has_deliveries, message_id,
      session_id, name, body, trace, end_user_id, agent_id, fingerprint, created_at)
      overriding system value
    select e.seq, e.id, e."projectId", e.deliveries <> '[]', e."messageId", e."sessionId", e.name,
      e.body, e.trace, e."endUserId", e."agentId", e.fingerprint, e."createdAt"
    from heard e),
  heading as materialized (
    select e.seq as event_seq, e."projectId", e."createdAt", d.*, d."orderKey" is not null and (
      row_number() over (partition by d."orderKey" order by e.seq) > 1
        or (select 1 from agent_messaging.deliveries o where o.order_key = d."orderKey"
          and o.order_key is not null and o.finished_at is null limit 1) is not null) as waits
    from heard e cross join lateral rows from (jsonb_to_recordset(e.deliveries) as (id text,
        "webhookSeq" bigint, "receiverSeq" bigint, "dueAt" bigint, lease bigint, "orderKey" text, body text))
      with ordinality as d)
  insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step,
    attempt_count, due_at, lease, order_key, body, created_at)
  select d.id, d."projectId", d."webhookSeq", coalesce(d."receiverSeq", d."webhookSeq"), d.event_seq,
    case when d.lease = 0 or d.waits then 'pending' else 'sending' end, 0, 0,
    case when d.waits then 9007199254740991 else d."dueAt" end,
    case when d.waits then 0 else d.lease end, d."orderKey", d.body, d."createdAt"
  from heading d order by d.event_seq, d.ordinality;
  if cardinality(order_keys) = 0 then
    return '{}';
  end if;
  return array(select d.id from agent_messaging.deliveries d
    where coalesce(d.due_at, 0) = 9007199254740991
      and d.id = any(array(select jsonb_path_query(events,
        '$[*].deliveries[*] ? (@.orderKey != null).id') #>> '{}')));
end $$;
