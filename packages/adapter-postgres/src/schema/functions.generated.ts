// Made from functions/*.sql by `npm run sql`.
export const functions = {
  accept_messages: `create or replace function agent_messaging.accept_messages(rounds jsonb)
returns table (place bigint, kind text, "existingSeq" bigint, token bigint, "sessionState" text)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set lock_timeout = '1s' as $$
#variable_conflict use_column
declare
  round jsonb;
begin
  perform agent_messaging.require_read_committed();
  for turn in 0 .. jsonb_array_length(rounds) - 1 loop
    round := rounds -> turn;
    if exists (select 1 from agent_messaging.erasures) then
      -- An erased message holds its key until the sweep deletes it.
      update agent_messaging.messages m set idempotency_key = null
        from jsonb_to_recordset(round) as g ("agentId" text, "idempotencyKey" text)
        where m.agent_id = g."agentId"
          and m.idempotency_key between g."idempotencyKey" and g."idempotencyKey"
          and not exists (select 1 from agent_messaging.sessions s
            join agent_messaging.agents a on a.id = s.agent_id where s.seq = m.session_seq);
    end if;
    return query
      with judged as materialized (
        select g.*, known.seq as existing_seq, case
          when g."apiKeyId" is not null and not exists (select 1 from agent_messaging.api_keys k
            where k.id = g."apiKeyId" and k.revoked_at is null) then 'key_revoked'
          -- With a changed agent, the key can be meant for another agent that now has its name.
          when known.id is not null
            and (known.id = g.id or (a.updated_at <> g."agentUpdatedAt") is not true)
            and g."projectId" = (select a.project_id from agent_messaging.agents a where a.id =
              (select s.agent_id from agent_messaging.sessions s where s.seq = known.session_seq))
          then 'existing'
          when a.project_id is distinct from g."projectId" then 'agent_not_found'
          when a.state <> 'running' then 'agent_not_running'
          when a.updated_at <> g."agentUpdatedAt" then 'agent_changed' end as refused
        from jsonb_to_recordset(round) as g (place bigint, "projectId" text, "agentId" text,
            "sessionId" text, id text, "idempotencyKey" text, fingerprint text, message text,
            request text, metadata text, principal text, trace text, "earlierTurns" text,
            now bigint, "claimUntil" bigint, "hookVersion" bigint, "apiKeyId" text,
            "agentUpdatedAt" bigint)
          left join lateral
            (select * from agent_messaging.agents where id = g."agentId" for key share) a on true
          left join lateral (
            (select m.id, m.seq, m.session_seq from agent_messaging.messages m
              where m.agent_id = g."agentId"
                and m.idempotency_key between g."idempotencyKey" and g."idempotencyKey"
              order by m.idempotency_key limit 1)
            union all
            (select m.id, m.seq, m.session_seq
              from (select * from agent_messaging.messages where id = g.id offset 0) m
              where m.agent_id = g."agentId")
            limit 1) known on true
        order by g."agentId" collate "C", g."sessionId" collate "C"),
      queued as (
        insert into agent_messaging.sessions as s (agent_id, session_id, last_position,
          head_position, open_count, due_at, lease, last_message_id, last_message_at)
        select g."agentId", g."sessionId", 1, 1, 1, coalesce(g."claimUntil", g.now),
          (g."claimUntil" is not null)::int, g.id, g.now
        from judged g where g.refused is null
        on conflict (agent_id, session_id) do update set
          last_position = s.last_position + 1,
          open_count = s.open_count + 1,
          due_at = coalesce(s.due_at, excluded.due_at),
          lease = s.lease + case when s.due_at is null then excluded.lease else 0 end,
          last_message_id = greatest(s.last_message_id, excluded.last_message_id),
          last_message_at = greatest(s.last_message_at, excluded.last_message_at)
          where s.open_count <= (select a.max_queued from agent_messaging.agents a
            where a.id = excluded.agent_id)
        returning s.seq, s.agent_id, s.session_id, s.last_position, s.lease, s.state,
          s.head_position = s.last_position as is_head),
      born as materialized (
        select g.*, q.seq, q.last_position, q.lease, q.state,
          q.is_head and g."claimUntil" is not null as is_claimed
        from judged g left join queued q on q.agent_id = g."agentId" collate "C"
          and q.session_id = g."sessionId" collate "C" and g.refused is null),
      written as (
        insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key,
          fingerprint, message, request, metadata, principal, trace, earlier_turns, attempt, state,
          not_before, started_at, created_at, open_until, hook_version)
        select b.id, b."agentId", b.seq, b.last_position, b."idempotencyKey", b.fingerprint,
          b.message, b.request, b.metadata, b.principal, b.trace, b."earlierTurns",
          b.is_claimed::int,
          case when b.is_claimed then 'running' else 'queued' end,
          case when not b.is_claimed then b.now end, case when b.is_claimed then b.now end, b.now,
          b.now, b."hookVersion"
        from born b where b.seq is not null)
      select b.place, coalesce(b.refused, case when b.seq is null then 'session_full'
          when b.is_claimed then 'claimed' else 'created' end),
        b.existing_seq, b.lease, b.state
      from born b;
  end loop;
end $$;
`,
  add_events: `create or replace function agent_messaging.add_events(events jsonb)
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
`,
  advance_orders: `create or replace function agent_messaging.advance_orders(order_keys text[], at bigint)
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
`,
  claim_deliveries: `create or replace function agent_messaging.claim_deliveries(shares jsonb, at bigint)
returns table (
  seq bigint, id text, "projectId" text, "webhookSeq" bigint, "receiverSeq" bigint, "eventId" text, event text,
  "attemptCount" integer, step integer, "resumeAt" bigint, lease bigint, "orderKey" text,
  "createdAt" bigint, body text, trace text, "wasDueAt" bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set enable_sort = off set enable_incremental_sort = off
  set lock_timeout = '10s' as $$
#variable_conflict use_column
begin
  perform agent_messaging.require_read_committed();
  return query
    with share as materialized (
      select * from jsonb_to_recordset(shares) as s ("receiverSeq" bigint, "isHalfOpen" boolean,
        "isRetry" boolean, count bigint, floor bigint, until bigint)),
    probed as materialized (
      select w.seq from agent_messaging.webhooks w
      where w.seq = any(array(select s."receiverSeq" from share s where s."isHalfOpen"))
        and w.circuit_until <= at for no key update skip locked),
    taken as materialized (
      select d.id, d.due_at, share.until
      from share cross join lateral (
        select q.id, q.due_at from agent_messaging.deliveries q
        where q.receiver_seq = share."receiverSeq" and (q.attempt_count > 0) = share."isRetry"
          and q.due_at between share.floor and at
        order by q.due_at limit share.count for update skip locked) d
      where not share."isHalfOpen" or share."receiverSeq" in (select p.seq from probed p)),
    claimed as (
      update agent_messaging.deliveries d set state = 'sending', due_at = taken.until,
        lease = d.lease + 1
      from taken where d.id = any(array[taken.id])
      returning d.*, taken.due_at as was_due_at),
    held as (
      update agent_messaging.webhooks w set circuit_until = c.due_at
      from (select distinct receiver_seq, due_at from claimed) c
      where w.seq = c.receiver_seq and w.seq in (select p.seq from probed p))
    select c.seq, c.id, c.project_id, c.webhook_seq, c.receiver_seq, e.id, e.name, c.attempt_count, c.step,
      c.resume_at, c.lease, c.order_key, c.created_at, coalesce(c.body, e.body), e.trace, c.was_due_at
    from claimed c join agent_messaging.events e on e.seq = any(array[c.event_seq]);
end $$;
`,
  claim_messages: `create or replace function agent_messaging.claim_messages(lanes jsonb, at bigint, until bigint)
returns table (
  id text, "projectId" text, "agentId" text, "sessionId" text, message text, request text,
  metadata text, principal text, fingerprint text, trace text, attempt integer, inputs text,
  "createdAt" bigint, token bigint, "sessionState" text, was text, "startedAt" bigint, "isExhausted" boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set enable_sort = off set enable_incremental_sort = off
  set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  sessions bigint[];
begin
  perform agent_messaging.require_read_committed();
  with due as materialized (
    select s.seq, s.due_at, lane.ordinality as place
    from rows from (jsonb_to_recordset(lanes) as ("agentId" text, free bigint))
        with ordinality as lane
    cross join lateral (
      select q.seq, q.due_at from agent_messaging.sessions q
      where q.agent_id = lane."agentId" and q.due_at <= at
      order by q.due_at limit greatest(lane.free, 0) for update skip locked) s),
  claimed as (
    update agent_messaging.sessions s set due_at = until, lease = s.lease + 1
    from due where s.seq = any(array[due.seq])
    returning s.seq, due.place, due.due_at)
  select array_agg(c.seq order by c.place, c.due_at, c.seq) into sessions from claimed c;
  if sessions is null then
    return;
  end if;
  -- A separate statement, because a head can be accepted after the statement above began and before
  -- that statement had the lock.
  return query
    with heads as materialized (
      select m.*, a.project_id, s.session_id, s.lease, s.state as session_state, claimed.place,
        m.attempt >= allowed.attempts as is_exhausted,
        case when m.attempt < allowed.attempts then m.attempt + 1 else m.attempt end as next_attempt
      from unnest(sessions) with ordinality as claimed (seq, place)
        join agent_messaging.sessions s on s.seq = any(array[claimed.seq])
        join agent_messaging.messages m
          on m.session_seq = any(array[s.seq]) and m.position = any(array[s.head_position])
        join agent_messaging.agents a on a.id = any(array[s.agent_id])
        -- A run that ended with a question does not count.
        cross join lateral (select
          a.max_attempts + coalesce(json_array_length(m.inputs::json), 0) as attempts) allowed),
    started as (
      update agent_messaging.messages m set state = 'running', attempt = heads.next_attempt,
        started_at = at, not_before = null, deadline_at = null
      from heads where m.id = any(array[heads.id])),
    -- The end of a message without attempts left stores its last run.
    lost as (
      insert into agent_messaging.past_runs (message_id, attempt, started_at, ended_at, reason)
      select h.id, h.attempt, h.started_at, at,
        case h.state when 'running' then 'lost' else 'timed_out' end
      from heads h where h.state in ('running', 'deferred') and not h.is_exhausted)
    select h.id, h.project_id, h.agent_id, h.session_id, h.message, h.request,
      h.metadata, h.principal, h.fingerprint, h.trace, h.next_attempt, h.inputs, h.created_at,
      h.lease, h.session_state, h.state, h.started_at, h.is_exhausted
    from heads h order by h.place;
end $$;
`,
  due_webhooks: `create or replace function agent_messaging.due_webhooks(
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
`,
  end_hooks: `create or replace function agent_messaging.end_hooks() returns trigger language plpgsql as $$
begin
  update agent_messaging.webhooks
  set url = '', secret = '', header_names = null, headers = null, is_deleted = true
  where message_id = old.id;
  return null;
end $$;

create or replace trigger messages_hooks after delete on agent_messaging.messages
  for each row when (old.hook_version is not null) execute function agent_messaging.end_hooks();
`,
  lock_orders: `create or replace function agent_messaging.lock_orders(order_keys text[]) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(sorted.lock) from (
    select distinct hashtextextended(substr(given.order_key, 38), 1095586631) as lock
    from unnest(order_keys) as given (order_key) where given.order_key is not null
    order by lock) sorted;
end $$;
`,
  publish_events: `create or replace function agent_messaging.publish_events(events jsonb, topics jsonb)
returns table (place bigint, kind text, id text, fingerprint text, waiting text[])
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set lock_timeout = '1s' as $$
#variable_conflict use_column
declare
  refused bigint[] := '{}';
  found record;
begin
  perform agent_messaging.require_read_committed();
  if exists (
    select 1 from jsonb_to_recordset(topics) as t ("projectId" text, names text[], version text)
    where t.version <> coalesce((
      select string_agg(w.seq || ':' || w.version, ',' order by w.seq)
      from agent_messaging.subscriptions s
        join agent_messaging.webhooks w on w.seq = s.webhook_seq
      where s.project_id = t."projectId" and s.event = any(t.names)), ''))
  then
    return query select null::bigint, 'changed', null::text, null::text, null::text[];
    return;
  end if;
  for found in
    select g.place, case when k.id is null then 'revoked'
        when r.fingerprint is not null then 'same_request' when e.seq is not null then 'same_id'
        when g."agentId" is not null and n.id is null then 'no_agent' else 'too_large' end as kind,
      g.id, coalesce(r.fingerprint, e.fingerprint) as fingerprint
    from jsonb_to_recordset(events) as g (place bigint, "projectId" text, id text,
        "agentId" text, "apiKeyId" text, "askedKey" text, "isTooLarge" boolean)
      left join lateral (select a.id from agent_messaging.agents a
        where a.id = any(array[g."agentId"]) and a.project_id = g."projectId" for key share) n on true
      left join lateral (select a.id from agent_messaging.api_keys a
        where a.id = any(array[g."apiKeyId"]) and a.revoked_at is null
        union all select '' where g."apiKeyId" is null) k on true
      left join lateral (select o.fingerprint from agent_messaging.publish_requests o
        where o.request_key = any(array[g."askedKey"]) and o.project_id = g."projectId"
        limit 1) r on true
      left join lateral (select * from agent_messaging.events o
        where o.id = any(array[g.id]) and o.project_id = g."projectId" limit 1) e on true
    where k.id is null or r.fingerprint is not null or e.seq is not null or g."isTooLarge"
      or g."agentId" is not null and n.id is null
  loop
    refused := refused || found.place;
    return query select found.place, found.kind, found.id, found.fingerprint, null::text[];
  end loop;
  if cardinality(refused) > 0 then
    events := (select coalesce(jsonb_agg(g.value order by g.ordinality), '[]')
      from jsonb_array_elements(events) with ordinality as g
      where (g.value ->> 'place')::bigint <> all(refused));
  end if;
  if jsonb_path_exists(events, '$[*].askedKey') then
    insert into agent_messaging.publish_requests (request_key, project_id, fingerprint, created_at)
    select distinct g."askedKey", g."projectId", g."askedFingerprint", g."createdAt"
    from jsonb_to_recordset(events) as g ("askedKey" text, "projectId" text,
      "askedFingerprint" text, "createdAt" bigint)
    where g."askedKey" is not null order by 1, 2;
  end if;
  waiting := agent_messaging.add_events(events);
  return query
    select distinct g.place, 'published', null::text, null::text, null::text[]
    from jsonb_to_recordset(events) as g (place bigint);
  return query select null::bigint, 'waiting', null::text, null::text, waiting;
end $$;
`,
  record_attempts: `create or replace function agent_messaging.record_attempts(attempts jsonb)
returns table (place bigint, "receiverSeq" bigint, "nextIsDue" boolean)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set lock_timeout = '1s' as $$
#variable_conflict use_column
declare
  places bigint[];
  receiver_seqs bigint[];
  -- The order keys of deliveries that ended. Null for any other delivery.
  ended text[];
  ended_at bigint;
  advanced text[];
begin
  perform agent_messaging.require_read_committed();
  -- The update sees each row as it is when it is locked, even if it changed after this statement
  -- began.
  with given as materialized (
    select g.*, d.seq
    from rows from (jsonb_to_recordset(attempts) as ("deliveryId" text, token bigint,
        "isAccepted" boolean, "startedAt" bigint, "durationMs" bigint, url text, outcome text,
        "headerNamesSeq" bigint, "headerValues" text, state text, step int, "dueAt" bigint,
        "finishedAt" bigint)) with ordinality as g
      join agent_messaging.deliveries d on d.id = any(array[g."deliveryId"])
    order by -d.seq),
  moved as (
    update agent_messaging.deliveries d set state = g.state, step = coalesce(g.step, d.step),
      due_at = g."dueAt", resume_at = null, finished_at = g."finishedAt",
      attempt_count = d.attempt_count + 1
    from given g
    where d.id = any(array[g."deliveryId"]) and d.finished_at is null
      and (g."isAccepted" or (d.state = 'sending' and d.lease = g.token))
    returning g.*, d.webhook_seq, d.receiver_seq, d.order_key, d.attempt_count),
  kept as (
    insert into agent_messaging.attempts (delivery_seq, attempt_number, started_at, duration_ms,
      url, outcome, header_names_seq, header_values, failed_webhook_seq)
    select seq, attempt_count, "startedAt", "durationMs", url, outcome, "headerNamesSeq",
      "headerValues", case when not "isAccepted" then webhook_seq end
    from moved)
  select array_agg(m.ordinality), array_agg(m.receiver_seq),
    array_agg(case when m."finishedAt" is not null then m.order_key end), max(m."finishedAt")
  into places, receiver_seqs, ended, ended_at from moved m;
  if cardinality(array_remove(ended, null)) > 0 then
    advanced := array(
      select agent_messaging.advance_orders(array_remove(ended, null), ended_at));
  end if;
  return query
    select recorded.place, recorded.receiver_seq, coalesce(recorded.ended = any(advanced), false)
    from unnest(places, receiver_seqs, ended) as recorded (place, receiver_seq, ended);
end $$;
`,
  remove_past_runs: `create or replace function agent_messaging.remove_past_runs() returns trigger language plpgsql
  set enable_seqscan = off as $$
begin
  delete from agent_messaging.past_runs where message_id = any(array(select m.id from removed m));
  delete from agent_messaging.message_parts
    where message_id = any(array(select m.id from removed m where m.has_parts is not null));
  return null;
end $$;

create or replace trigger messages_past_runs after delete on agent_messaging.messages
  referencing old table as removed
  for each statement execute function agent_messaging.remove_past_runs();
`,
  require_read_committed: `create or replace function agent_messaging.require_read_committed() returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'agent_messaging needs read committed'
      using errcode = 'invalid_transaction_state';
  end if;
end $$;
`,
  settle_runs: `create or replace function agent_messaging.settle_runs(runs jsonb, topics jsonb)
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
`,
  subscribers: `create or replace function agent_messaging.subscribers(topics jsonb)
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
`,
  webhook_version: `create or replace function agent_messaging.webhook_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;

create or replace trigger webhooks_version before update of
    url, events, filter, description, secret, header_names, headers, previous_secret,
    previous_until, disable_on_gone, ordering, payload, sending, paused, disabled_at,
    disabled_reason, consecutive_failures, failing_since, last_failure_at, circuit_until,
    circuit_trips, reported_failing_since, receiver, updated_at, is_deleted
  on agent_messaging.webhooks for each row execute function agent_messaging.webhook_version();
`,
}
