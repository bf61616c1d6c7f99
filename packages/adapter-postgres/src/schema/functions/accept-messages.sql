-- Accepts messages, which come in rounds: no two messages of a round have one session or one key.
-- Each round sees the rows of the round before it. All callers lock sessions in the same order, so
-- that they seldom deadlock. Claims like `newMessageClaim` of core. The contract compares the two.
create or replace function agent_messaging.accept_messages(rounds jsonb)
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
