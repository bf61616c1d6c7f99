import { HOT, HOT_ORDERED } from './0004/functions.js'

/**
 * As `claim_runnable`, with all that a run needs to know of its message: to read that in a statement of its own cost more than the claim,
 * for most of it was the planning of the joins. Where nothing is due, nothing else is looked at.
 */
const claimMessages = `
create function agent_messaging.claim_messages(agent_ids text[], free bigint[], at bigint, until bigint)
returns table (
  id text, "projectId" text, "agentId" text, "sessionId" text, message text, metadata text, principal text, fingerprint text, trace text,
  attempt integer, "createdAt" bigint, token bigint, "sessionState" text, was text) ${HOT_ORDERED} as $$
#variable_conflict use_column
declare
  sessions bigint[];
begin
  perform agent_messaging.require_read_committed();
  with due as materialized (
    select s.seq, s.due_at, lane.place
    from unnest(agent_ids, free) with ordinality as lane (agent_id, free, place)
    cross join lateral (
      select q.seq, q.due_at from agent_messaging.sessions q where q.agent_id = lane.agent_id and q.due_at <= at
      order by q.due_at limit lane.free for update skip locked) s),
  claimed as (
    update agent_messaging.sessions s set due_at = until, lease = s.lease + 1 from due where s.seq = any(array[due.seq])
    returning s.seq, due.place, due.due_at)
  select array_agg(c.seq order by c.place, c.due_at, c.seq) into sessions from claimed c;
  if sessions is null then
    return;
  end if;
  -- Only now: the head may have been accepted after the statement above began, and before it had the lock.
  return query
    with heads as materialized (
      select m.*, a.project_id, s.session_id, s.lease, s.state as session_state, claimed.place
      from unnest(sessions) with ordinality as claimed (seq, place) join agent_messaging.sessions s on s.seq = any(array[claimed.seq])
        join agent_messaging.messages m on m.session_seq = any(array[s.seq]) and m.position = any(array[s.head_position])
        join agent_messaging.agents a on a.id = any(array[s.agent_id])),
    started as (
      update agent_messaging.messages m set state = 'running', attempt = m.attempt + 1, started_at = at, not_before = null, deadline_at = null
      from heads where m.id = any(array[heads.id]))
    select h.id, h.project_id, h.agent_id, h.session_id, h.message, h.metadata, h.principal, h.fingerprint, h.trace, h.attempt + 1,
      h.created_at, h.lease, h.session_state, h.state
    from heads h order by h.place;
end $$;
`

/** The webhooks to which events go that have these names, by the place of each. It is asked for each batch of answers, and planned once. */
const subscribers = `
create function agent_messaging.subscribers(project_ids text[], names text[], agent_ids text[])
returns table (topic bigint, webhook agent_messaging.webhooks) ${HOT} as $$
#variable_conflict use_column
begin
  return query
    select topic.place - 1, w
    from unnest(project_ids, names, agent_ids) with ordinality as topic (project_id, name, agent_id, place)
      join agent_messaging.subscriptions s on s.project_id = any(array[topic.project_id]) and s.event = any(array['*', topic.name])
      join agent_messaging.webhooks w on w.seq = any(array[s.webhook_seq])
    where w.agent_id is null or w.agent_id = topic.agent_id order by topic.place, w.seq;
end $$;
`

/** What was read beside a call of a function is read by functions too, whose plans a connection keeps. The release before calls the others. */
export const fewerStatements = [claimMessages, subscribers].join('')
