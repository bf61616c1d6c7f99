import { HOT_ORDERED } from './functions.js'

/** Heads of due sessions, the longest due first in each lane, under new leases. Passes over sessions that others lock. */
export const claimRunnable = `
create or replace function agent_messaging.claim_runnable(agent_ids text[], free bigint[], at bigint, until bigint)
returns table (seq bigint, token bigint, "sessionState" text, was text) ${HOT_ORDERED} as $$
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
  -- Only now: the head may have been accepted after the statement above began, and before it had the lock.
  return query
    with heads as materialized (
      select m.id, m.seq, s.lease, s.state as session_state, m.state, claimed.place
      from unnest(sessions) with ordinality as claimed (seq, place) join agent_messaging.sessions s on s.seq = any(array[claimed.seq])
        join agent_messaging.messages m on m.session_seq = any(array[s.seq]) and m.position = any(array[s.head_position])),
    started as (
      update agent_messaging.messages m set state = 'running', attempt = m.attempt + 1, started_at = at, not_before = null, deadline_at = null
      from heads where m.id = any(array[heads.id]))
    select heads.seq, heads.lease, heads.session_state, heads.state from heads order by heads.place;
end $$;
`

/**
 * Webhooks that may be sent to and have something due, at most so many, in their order behind the one given: since when its first
 * attempts and its retries are. A hop from lane to lane is one descent of an index, whatever the lanes hold, and of each no more is read
 * than may be taken. A floor is where the open ones of a lane begin: dead rows below it are not looked at, though a long snapshot keeps
 * them in the index.
 */
export const dueLanes = `
create or replace function agent_messaging.due_lanes(
  after bigint, up_to bigint, at bigint, most_lanes bigint, most bigint, except_ids text[], floor_lanes bigint[], floors bigint[])
returns table (seq bigint, firsts json, retries json) rows 16 ${HOT_ORDERED} as $$
#variable_conflict use_column
declare
  -- As constants the planner would turn them into conditions that are not the index's.
  a_first constant boolean := false;
  a_retry constant boolean := true;
begin
  perform agent_messaging.require_read_committed();
  return query
    with recursive lane (seq) as (
      (select d.webhook_seq from agent_messaging.deliveries d
        where d.due_at is not null and d.webhook_seq > after and d.webhook_seq <= up_to
        order by d.webhook_seq, d.attempt_count > 0, d.due_at limit 1)
      union all
      select next.webhook_seq from lane cross join lateral
        (select d.webhook_seq from agent_messaging.deliveries d
          where d.due_at is not null and d.webhook_seq > lane.seq and d.webhook_seq <= up_to
          order by d.webhook_seq, d.attempt_count > 0, d.due_at limit 1) next)
    select lane.seq, array_to_json(due.firsts), array_to_json(due.retries)
    from lane cross join lateral (select * from agent_messaging.webhooks w where w.seq = lane.seq offset 0) w
      left join unnest(floor_lanes, floors) as known (seq, floor) on known.seq = lane.seq
      cross join lateral (select
        array(select d.due_at from agent_messaging.deliveries d
          where d.webhook_seq = lane.seq and (d.attempt_count > 0) = a_first and d.due_at between coalesce(known.floor, 0) and at
          order by d.due_at limit most) as firsts,
        array(select d.due_at from agent_messaging.deliveries d
          where d.webhook_seq = lane.seq and (d.attempt_count > 0) = a_retry and d.due_at between coalesce(known.floor, 0) and at
          order by d.due_at limit most) as retries offset 0) due
    where not w.is_deleted and w.disabled_at is null and (w.circuit_until is null or w.circuit_until <= at)
      and w.id <> all(except_ids) and w.project_id <> all(except_ids)
      and cardinality(due.firsts) + cardinality(due.retries) > 0
    limit most_lanes;
end $$;
`

/**
 * Claims so many of each lane, first attempts or retries, from its floor on. Passes over what others lock, who claim it. One process
 * probes a half-open webhook: who gets its row.
 */
export const claimDue = `
create or replace function agent_messaging.claim_due(
  lanes bigint[], are_retries boolean[], counts bigint[], floors bigint[], half_open bigint[], at bigint, until bigint)
returns table (
  seq bigint, id text, "projectId" text, "webhookSeq" bigint, "eventId" text, event text, "attemptCount" integer, step integer,
  "resumeAt" bigint, lease bigint, "createdAt" bigint, body text, trace text, "wasDueAt" bigint) ${HOT_ORDERED} as $$
#variable_conflict use_column
begin
  perform agent_messaging.require_read_committed();
  return query
    with probed as materialized (
      select w.seq from agent_messaging.webhooks w where w.seq = any(half_open) and w.circuit_until <= at for no key update skip locked),
    taken as materialized (
      select d.id, d.due_at from unnest(lanes, are_retries, counts, floors) as share (lane, is_retry, count, floor)
      cross join lateral (
        select q.id, q.due_at from agent_messaging.deliveries q
        where q.webhook_seq = share.lane and (q.attempt_count > 0) = share.is_retry and q.due_at between share.floor and at
        order by q.due_at limit share.count for update skip locked) d
      where share.lane <> all(half_open) or share.lane in (select p.seq from probed p)),
    claimed as (
      update agent_messaging.deliveries d set state = 'sending', due_at = until, lease = d.lease + 1 from taken where d.id = any(array[taken.id])
      returning d.*, taken.due_at as was_due_at),
    held as (
      update agent_messaging.webhooks w set circuit_until = until
      where w.seq = any(half_open) and w.seq in (select c.webhook_seq from claimed c))
    select c.seq, c.id, c.project_id, c.webhook_seq, e.id, e.name, c.attempt_count, c.step, c.resume_at, c.lease, c.created_at, e.body,
      e.trace, c.was_due_at
    from claimed c join agent_messaging.events e on e.seq = any(array[c.event_seq]);
end $$;
`
