import { BATCH_LOCK_TIMEOUT, HOT } from '../hot-function.js'

/**
 * Accepts messages with one statement, as `accept_messages` does with a statement for each. The
 * messages must be independent: no two of one session, no two with one key.
 *
 * Leaves the whole batch to `accept_messages` if one message exists already, has a revoked key, an
 * agent that does not run or has changed, or a full session. A session that fills up at this moment
 * makes the batch run again.
 */
export const acceptIndependent = `
create or replace function agent_messaging.accept_independent(
  project_ids text[], agent_ids text[], session_ids text[], ids text[], keys text[],
  fingerprints text[], texts text[], metadatas text[], principals text[], traces text[],
  all_earlier_turns text[], nows bigint[], claim_untils bigint[], api_key_ids text[], agents_updated_at bigint[])
returns table (place bigint, kind text, "existingSeq" bigint, token bigint, "sessionState" text)
${HOT} ${BATCH_LOCK_TIMEOUT} set enable_hashjoin = on as $$
#variable_conflict use_column
declare
  accepted bigint;
begin
  perform agent_messaging.require_read_committed();
  -- The lock keeps the agents from being deleted before the commit. Other changes can happen.
  perform 1 from agent_messaging.agents a where a.id = any(agent_ids)
    order by a.id for key share;
  if exists (
    select 1 from unnest(project_ids, agent_ids, session_ids, ids, keys, api_key_ids,
          agents_updated_at)
        as g (project_id, agent_id, session_id, id, key, api_key_id, agent_updated_at)
      left join lateral
        (select * from agent_messaging.agents where id = g.agent_id offset 0) a on true
    where a.project_id is distinct from g.project_id or a.state <> 'running'
      or a.updated_at <> g.agent_updated_at
      or (g.api_key_id is not null and not exists (select 1 from agent_messaging.api_keys k
        where k.id = g.api_key_id and k.revoked_at is null))
      or (select m.id from agent_messaging.messages m
        where m.agent_id = g.agent_id and m.idempotency_key between g.key and g.key
        order by m.idempotency_key limit 1) is not null
      or exists (select 1 from agent_messaging.messages m where m.id = any(array[g.id]))
      or (select s.open_count from agent_messaging.sessions s
        where s.agent_id = g.agent_id and s.session_id between g.session_id and g.session_id
        order by s.session_id limit 1) > a.max_queued)
  then
    return query select * from agent_messaging.accept_messages(project_ids, agent_ids, session_ids,
      ids, keys, fingerprints, texts, metadatas, principals, traces, all_earlier_turns, nows,
      claim_untils, api_key_ids, agents_updated_at);
    return;
  end if;

  return query
    -- In the order in which accept_messages locks sessions.
    with given as materialized (
      select * from unnest(agent_ids, session_ids, ids, keys, fingerprints, texts, metadatas,
          principals, traces, all_earlier_turns, nows, claim_untils)
        with ordinality as g (agent_id, session_id, id, key, fingerprint, text, metadata,
          principal, trace, earlier_turns, now, claim_until, place)
      order by g.agent_id collate "C", g.session_id collate "C"),
    queued as (
      insert into agent_messaging.sessions as s (agent_id, session_id, last_position,
        head_position, open_count, due_at, lease, last_message_id, last_message_at)
      select g.agent_id, g.session_id, 1, 1, 1, coalesce(g.claim_until, g.now),
        (g.claim_until is not null)::int, g.id, g.now
      from given g
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
        g.claim_until is not null and q.is_head as is_claimed
      from given g join queued q
        on q.agent_id = g.agent_id collate "C" and q.session_id = g.session_id collate "C"),
    written as (
      insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key,
        fingerprint, message, metadata, principal, trace, earlier_turns, attempt, state,
        not_before, started_at, created_at)
      select b.id, b.agent_id, b.seq, b.last_position, b.key, b.fingerprint, b.text, b.metadata,
        b.principal, b.trace, b.earlier_turns, b.is_claimed::int,
        case when b.is_claimed then 'running' else 'queued' end,
        case when not b.is_claimed then b.now end, case when b.is_claimed then b.now end, b.now
      from born b)
    select b.place, case when b.is_claimed then 'claimed' else 'created' end, null::bigint,
      b.lease, b.state
    from born b;
  get diagnostics accepted = row_count;
  if accepted < cardinality(ids) then
    raise exception 'a session has filled up' using errcode = 'serialization_failure';
  end if;
end $$;
`
