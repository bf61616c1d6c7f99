-- Records the outcomes of runs, each with events of its message and their deliveries. First locks
-- the sessions in the order in which accepts lock them, then reads. Returns the unchanging facts of
-- each message whose run was recorded. Decides like `holdsRun` of core. The contract compares the
-- two. Each key of a row is parsed, so rows have no keys that are null or known here.
--
-- A delivery with an order key waits if another one with that key is open. If a delivery of the
-- batch has an order key, the last row has no place, but the ids of the deliveries that wait.
--
-- The caller decided about the deliveries by the webhooks of the topics in these versions, as
-- `subscribers` returns them, and by the hooks of the messages in their versions, with healthy
-- receivers. If a webhook has changed, the only row has place 0. If a hook has changed, or such a
-- receiver fails now, the only row has place -1. Then nothing is written.
create or replace function agent_messaging.settle_runs(runs jsonb, topics jsonb)
returns table (
  place bigint, "sessionWaits" boolean, id text, "projectId" text, "agentId" text,
  "sessionId" text, message text, request text, metadata text, principal text, fingerprint text,
  trace text, attempt integer, inputs text, "createdAt" bigint, waiting text[])
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set lock_timeout = '1s' as $$
#variable_conflict use_column
declare
  message_ids text[];
  hook_versions bigint[];
  healthy_seqs bigint[];
  order_keys text[];
begin
  perform agent_messaging.require_read_committed();
  select array_agg(r."messageId"), array_agg(coalesce(r."hookVersion", 0)), array_agg(r."healthySeq")
    into message_ids, hook_versions, healthy_seqs
    from jsonb_to_recordset(runs)
      as r ("messageId" text, "hookVersion" bigint, "healthySeq" bigint);
  perform 1 from unnest(message_ids) as r (message_id)
      join agent_messaging.messages m on m.id = r.message_id
      join agent_messaging.sessions s on s.seq = m.session_seq
    order by s.agent_id, s.session_id for update of s;
  place := case when exists (
    select 1 from jsonb_to_recordset(topics) as t ("projectId" text, names text[], version text)
    where t.version <> coalesce((
      select string_agg(w.seq || ':' || w.version, ',' order by w.seq)
      from agent_messaging.subscriptions s
        join agent_messaging.webhooks w on w.seq = s.webhook_seq
      where s.project_id = t."projectId" and s.event = any(t.names)), ''))
  then 0 when exists (
    select 1 from agent_messaging.messages m
    where m.hook_version is not null and m.id = any(message_ids)
      and m.hook_version <> hook_versions[array_position(message_ids, m.id)])
    or exists (
      select 1 from agent_messaging.webhooks w
      where w.seq = any(healthy_seqs)
        and (w.consecutive_failures > 0 or w.circuit_until is not null))
  then -1 end;
  if place is not null then
    return next;
    return;
  end if;
  order_keys := array(
    select jsonb_path_query(runs, '$[*].events[*].deliveries[*].orderKey') #>> '{}');
  if cardinality(order_keys) > 0 then
    perform agent_messaging.lock_orders(order_keys);
  end if;
  return query
    with held as materialized (
      select r.*, m.session_seq, a.project_id as owner, m.agent_id, s.session_id, m.message,
        m.request, m.metadata, m.principal, m.fingerprint, m.trace, m.attempt, m.inputs,
        m.created_at
      from rows from (jsonb_to_recordset(runs) as ("messageId" text, token bigint, now bigint,
          state text, "notBefore" bigint, "finishedAt" bigint, "responseTimeMs" bigint,
          response text, error text, usage text, "hasParts" smallint, events jsonb)) with ordinality as r
        join agent_messaging.messages m on m.id = any(array[r."messageId"])
        join agent_messaging.sessions s on s.seq = any(array[m.session_seq])
        join agent_messaging.agents a on a.id = any(array[s.agent_id])
      where s.lease = r.token and s.head_position = m.position
        and m.state in ('running', 'deferred')),
    heard as materialized (
      select h.owner, h."messageId", h.session_id, e.*,
        nextval('agent_messaging.events_seq_seq') as seq
      from held h cross join lateral rows from (jsonb_to_recordset(h.events) as (id text,
          name text, body text, trace text, "createdAt" bigint, deliveries jsonb))
        with ordinality as e
      order by h.ordinality, e.ordinality),
    written as (
      update agent_messaging.messages m set state = h.state, not_before = h."notBefore",
        started_at = null, deadline_at = null, finished_at = h."finishedAt",
        response_time_ms = h."responseTimeMs", response = h.response, error = h.error,
        usage = h.usage, has_parts = h."hasParts"
      from held h where m.id = any(array[h."messageId"])),
    moved as (
      update agent_messaging.sessions s set
        open_count = s.open_count - (h.state <> 'queued')::int,
        due_at = case
          when h.state = 'queued' then h."notBefore" when s.open_count > 1 then h.now end,
        head_position = case
          when h.state = 'queued' then s.head_position
          when s.open_count = 1 then s.last_position + 1
          -- Behind the head all open messages are queued. Skips cancelled and moved messages.
          else (select m.position from agent_messaging.messages m
            where m.session_seq = s.seq and m.position > s.head_position and m.state = 'queued'
            order by m.position limit 1) end
      from held h where s.seq = any(array[h.session_seq])
      returning s.due_at is not null as waits, h.*),
    told as (
      insert into agent_messaging.events (seq, id, project_id, has_deliveries, message_id,
        session_id, name, body, trace, created_at)
        overriding system value
      select e.seq, e.id, e.owner, e.deliveries <> '[]', e."messageId", e.session_id, e.name,
        e.body, e.trace, e."createdAt"
      from heard e),
    heading as materialized (
      select e.seq as event_seq, e.owner, e."createdAt", d.*, d."orderKey" is not null and (
        -- A second event of a session follows the first one.
        row_number() over (partition by d."orderKey" order by e.seq) > 1
          or (select 1 from agent_messaging.deliveries o where o.order_key = d."orderKey"
            and o.order_key is not null and o.finished_at is null limit 1) is not null) as waits
      from heard e cross join lateral rows from (jsonb_to_recordset(e.deliveries) as (id text,
          "webhookSeq" bigint, "receiverSeq" bigint, "dueAt" bigint, lease bigint, "orderKey" text, body text))
        with ordinality as d),
    born as (
      insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step,
        attempt_count, due_at, lease, order_key, body, created_at)
      select d.id, d.owner, d."webhookSeq", coalesce(d."receiverSeq", d."webhookSeq"), d.event_seq,
        case when d.lease = 0 or d.waits then 'pending' else 'sending' end, 0, 0,
        case when d.waits then 9007199254740991 else d."dueAt" end,
        case when d.waits then 0 else d.lease end, d."orderKey", d.body,
        d."createdAt"
      from heading d order by d.event_seq, d.ordinality)
    select h.ordinality, h.waits, h."messageId", h.owner, h.agent_id, h.session_id, h.message,
      h.request, h.metadata, h.principal, h.fingerprint, h.trace, h.attempt, h.inputs,
      h.created_at, null::text[]
    from moved h;
  if cardinality(order_keys) > 0 then
    place := null;
    waiting := array(select d.id from agent_messaging.deliveries d
      where coalesce(d.due_at, 0) = 9007199254740991
        and d.id = any(array(select jsonb_path_query(runs,
          '$[*].events[*].deliveries[*] ? (@.orderKey != null).id') #>> '{}')));
    return next;
  end if;
end $$;
