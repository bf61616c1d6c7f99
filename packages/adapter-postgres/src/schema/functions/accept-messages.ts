import { BATCH_LOCK_TIMEOUT, HOT } from '../hot-function.js'

/**
 * Accepts messages one after the other. All callers lock sessions in the same order, so that they
 * cannot deadlock. Each message sees the rows of the messages before it: two messages with one key,
 * or of one session, can share a batch. Claims like `newMessageClaim` of core. The contract
 * compares the two.
 */
export const acceptMessages = `
create or replace function agent_messaging.accept_messages(
  project_ids text[], agent_ids text[], session_ids text[], ids text[], keys text[],
  fingerprints text[], texts text[], metadatas text[], principals text[], traces text[],
  all_earlier_turns text[], nows bigint[], claim_untils bigint[], api_key_ids text[], agents_updated_at bigint[])
returns table (place bigint, kind text, "existingSeq" bigint, token bigint, "sessionState" text)
${HOT} ${BATCH_LOCK_TIMEOUT} as $$
#variable_conflict use_column
declare
  given record;
  agent record;
  known record;
  queue record;
  is_claimed boolean;
begin
  perform agent_messaging.require_read_committed();
  for given in
    select * from unnest(project_ids, agent_ids, session_ids, ids, keys, fingerprints, texts,
        metadatas, principals, traces, all_earlier_turns, nows, claim_untils, api_key_ids,
        agents_updated_at)
      with ordinality as g (project_id, agent_id, session_id, id, key, fingerprint, text,
        metadata, principal, trace, earlier_turns, now, claim_until, api_key_id,
        agent_updated_at, place)
    order by g.agent_id collate "C", g.session_id collate "C", g.key collate "C", g.place
  loop
    place := given.place;
    "existingSeq" := null;
    token := null;
    "sessionState" := null;
    -- The lock keeps the agent from being deleted before the commit. Other changes can happen.
    select a.project_id, a.state, a.updated_at, a.max_queued into agent
      from agent_messaging.agents a where a.id = given.agent_id for key share;
    if given.api_key_id is not null then
      perform from agent_messaging.api_keys k
        where k.id = given.api_key_id and k.revoked_at is null;
      if not found then
        kind := 'key_revoked';
        return next;
        continue;
      end if;
    end if;
    select * into known from (
      (select m.id, m.seq, m.session_seq from agent_messaging.messages m
        where m.agent_id = given.agent_id and m.idempotency_key between given.key and given.key
        order by m.idempotency_key limit 1)
      union all
      -- The subquery keeps the planner from searching for the id among all messages of the agent.
      (select m.id, m.seq, m.session_seq
        from (select * from agent_messaging.messages where id = given.id offset 0) m
        where m.agent_id = given.agent_id)) found
    limit 1;
    if found then
      -- With a changed agent, the key can be meant for another agent that now has its name.
      if (known.id = given.id or (agent.updated_at <> given.agent_updated_at) is not true)
        and given.project_id = (select a.project_id from agent_messaging.agents a where a.id =
          (select s.agent_id from agent_messaging.sessions s where s.seq = known.session_seq))
      then
        kind := 'existing';
        "existingSeq" := known.seq;
        return next;
        continue;
      end if;
    end if;

    if agent.project_id is distinct from given.project_id or agent.state <> 'running' then
      kind := case when agent.project_id = given.project_id
        then 'agent_not_running' else 'agent_not_found' end;
      return next;
      continue;
    end if;
    if agent.updated_at <> given.agent_updated_at then
      kind := 'agent_changed';
      return next;
      continue;
    end if;

    insert into agent_messaging.sessions as s (agent_id, session_id, last_position, head_position,
      open_count, due_at, lease, last_message_id, last_message_at)
    values (given.agent_id, given.session_id, 1, 1, 1, coalesce(given.claim_until, given.now),
      (given.claim_until is not null)::int, given.id, given.now)
    on conflict (agent_id, session_id) do update set
      last_position = s.last_position + 1,
      open_count = s.open_count + 1,
      due_at = coalesce(s.due_at, excluded.due_at),
      lease = s.lease + case when s.due_at is null then excluded.lease else 0 end,
      last_message_id = greatest(s.last_message_id, excluded.last_message_id),
      last_message_at = greatest(s.last_message_at, excluded.last_message_at)
      where s.open_count <= agent.max_queued
    returning s.seq, s.last_position, s.lease, s.state, s.head_position = s.last_position as is_head
    into queue;
    if not found then
      kind := 'session_full';
      return next;
      continue;
    end if;

    if known.id is not null then
      -- An erased message holds its key until the sweep deletes it.
      update agent_messaging.messages m set idempotency_key = null
        where m.id = known.id and m.idempotency_key = given.key and not exists
          (select 1 from agent_messaging.sessions s
            join agent_messaging.agents a on a.id = s.agent_id where s.seq = m.session_seq);
    end if;
    is_claimed := given.claim_until is not null and queue.is_head;
    insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key,
      fingerprint, message, metadata, principal, trace, earlier_turns, attempt, state, not_before,
      started_at, created_at)
    values (given.id, given.agent_id, queue.seq, queue.last_position, given.key,
      given.fingerprint, given.text, given.metadata, given.principal, given.trace,
      given.earlier_turns, is_claimed::int,
      case when is_claimed then 'running' else 'queued' end,
      case when not is_claimed then given.now end, case when is_claimed then given.now end,
      given.now);
    kind := case when is_claimed then 'claimed' else 'created' end;
    token := queue.lease;
    "sessionState" := queue.state;
    return next;
  end loop;
end $$;
`
