-- Inserts the events of publications, which share no id and no request. The caller decided about the
-- deliveries by the webhooks of the topics in these versions. If a webhook has changed, the only row
-- is `changed`. A publication whose key is revoked, or that has a stored id or request, inserts
-- nothing, and has a row for each that was found. So has one whose agent does not exist, and one that
-- is too large, which the caller looks up only. The deletion of an agent waits for this commit. The
-- last row has the deliveries that wait.
create or replace function agent_messaging.publish_events(events jsonb, topics jsonb)
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
