-- Claims the heads of due sessions under new leases, for each agent the longest due ones first.
-- Skips sessions that another transaction has locked. Stores the runs that are lost, like
-- `interruptedRun` of core. Returns all facts that a run needs, because a
-- separate statement costs more than the claim. Most of its time goes into planning.
create or replace function agent_messaging.claim_messages(lanes jsonb, at bigint, until bigint)
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
