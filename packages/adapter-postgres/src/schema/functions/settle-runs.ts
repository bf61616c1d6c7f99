import { WAITING } from '@org/agent-messaging-core/storage'
import { BATCH_LOCK_TIMEOUT, HOT } from '../hot-function.js'

const DELIVERIES = `
    born as (
      insert into agent_messaging.deliveries (id, project_id, webhook_seq, event_seq, state, step,
        attempt_count, due_at, lease, created_at)
      select b.id, h.project_id, b.webhook_seq, h.event_seq,
        case when b.lease = 0 then 'pending' else 'sending' end, 0, 0, b.due_at, b.lease, h.told_at
      from heard h
        cross join lateral unnest(h.delivery_ids::text[], h.webhook_seqs::bigint[],
            h.due_ats::bigint[], h.leases::bigint[])
          with ordinality as b (id, webhook_seq, due_at, lease, place)
      order by h.place, b.place)`
/** A delivery with an order key waits behind an open one with that key. */
const ORDERED_DELIVERIES = `
    blocked as materialized (
      select h.run, b.id from heard h
        cross join lateral unnest(h.delivery_ids::text[], h.order_keys::text[]) as b (id, order_key)
        cross join lateral (select 1 from agent_messaging.deliveries d
          where d.order_key = b.order_key
            and d.order_key is not null and d.finished_at is null limit 1) open
      where h.order_keys is not null and b.order_key is not null
      union all
      -- A second event of the same run follows the first one.
      select h.run, b.id from heard h
        cross join lateral unnest(h.delivery_ids::text[], h.order_keys::text[]) as b (id, order_key)
        cross join lateral (select 1 from heard first
          where first.run = h.run and first.place < h.place
            and b.order_key = any(first.order_keys::text[]) limit 1) earlier
      where h.order_keys is not null and b.order_key is not null),
    born as (
      insert into agent_messaging.deliveries (id, project_id, webhook_seq, event_seq, state, step,
        attempt_count, due_at, lease, order_key, created_at)
      select b.id, h.project_id, b.webhook_seq, h.event_seq,
        case when b.lease = 0 or w.is_blocked then 'pending' else 'sending' end, 0, 0,
        case when w.is_blocked then ${WAITING} else b.due_at end,
        case when w.is_blocked then 0 else b.lease end, b.order_key, h.told_at
      from heard h
        cross join lateral unnest(h.delivery_ids::text[], h.webhook_seqs::bigint[],
            h.due_ats::bigint[], h.leases::bigint[], h.order_keys::text[])
          with ordinality as b (id, webhook_seq, due_at, lease, order_key, place)
        cross join lateral (select b.order_key is not null
          and b.id in (select blocked.id from blocked) as is_blocked) w
      order by h.place, b.place)`

/**
 * The statement without order keys has half of the steps. A step costs as much to start as to run.
 */
const settle = (isOrdered: boolean): string => `
  return query
    with held as materialized (
      select g.*, m.session_seq, a.project_id as owner, m.agent_id, s.session_id, m.message,
        m.metadata, m.principal, m.fingerprint, m.trace as message_trace, m.attempt, m.inputs, m.created_at
      from unnest(message_ids, tokens, states, not_befores, finished_ats, response_times, responses,
          errors, run_usages, nows)
        with ordinality as g (message_id, token, state, not_before, finished_at, response_time,
          response, error, run_usage, now, place)
        join agent_messaging.messages m on m.id = any(array[g.message_id])
        join agent_messaging.sessions s on s.seq = any(array[m.session_seq])
        join agent_messaging.agents a on a.id = any(array[s.agent_id])
      where s.lease = g.token and s.head_position = m.position
        and m.state in ('running', 'deferred')),
    heard as materialized (
      select e.*, nextval('agent_messaging.events_seq_seq') as event_seq
      from unnest(event_runs, event_ids, event_messages, event_sessions, event_names, bodies,
          traces, told_ats, project_ids, delivery_ids, webhook_seqs, due_ats, leases, order_keys)
        with ordinality as e (run, event_id, event_message, event_session, event_name, body, trace,
          told_at, project_id, delivery_ids, webhook_seqs, due_ats, leases, order_keys, place)
        join held h on h.place = e.run
      order by e.place),
    written as (
      update agent_messaging.messages m set state = h.state, not_before = h.not_before,
        started_at = null, deadline_at = null, finished_at = h.finished_at,
        response_time_ms = h.response_time, response = h.response, error = h.error,
        usage = h.run_usage
      from held h where m.id = h.message_id),
    moved as (
      update agent_messaging.sessions s set
        open_count = s.open_count - (h.state <> 'queued')::int,
        due_at = case
          when h.state = 'queued' then h.not_before when s.open_count > 1 then h.now end,
        head_position = case
          when h.state = 'queued' then s.head_position
          when s.open_count = 1 then s.last_position + 1
          -- Behind the head all open messages are queued. Skips cancelled and moved messages.
          else (select m.position from agent_messaging.messages m
            where m.session_seq = s.seq and m.position > s.head_position and m.state = 'queued'
            order by m.position limit 1) end
      from held h where s.seq = h.session_seq
      returning s.due_at is not null as waits, h.*),
    told as (
      insert into agent_messaging.events (seq, id, project_id, has_deliveries, message_id,
        session_id, name, body, trace, created_at)
        overriding system value
      select event_seq, event_id, project_id, delivery_ids <> '{}', event_message,
        event_session, event_name, body, trace, told_at
      from heard),
    ${isOrdered ? ORDERED_DELIVERIES : DELIVERIES}
    select h.place, h.waits, h.message_id, h.owner, h.agent_id, h.session_id, h.message, h.metadata,
      h.principal, h.fingerprint, h.message_trace, h.attempt, h.inputs, h.created_at,
      ${isOrdered ? 'array(select blocked.id from blocked where blocked.run = h.place)' : 'null::text[]'}
    from moved h;`

/**
 * Records the outcomes of runs, each with its events and their deliveries. First locks
 * the sessions in the order in which accepts lock them, then reads. Returns the unchanging facts of
 * each message whose run was recorded. Decides like `holdsRun` of core. The contract compares the
 * two.
 *
 * A delivery with an order key waits if another one with that key is open. The result has the ids
 * of the deliveries that wait. `order_keys` is null if no delivery of the batch has one.
 *
 * The caller decided about the deliveries by the webhooks of the topics in these versions, as
 * `subscribers` returns them, and by the hooks of the messages in their versions. `hook_versions`
 * is null if the caller knows of no hook. If a webhook has changed, the only row has place 0. If a
 * hook has changed, the only row has place -1. Then nothing is written.
 */
export const settleRuns = `
create or replace function agent_messaging.settle_runs(
  message_ids text[], tokens bigint[], states text[], not_befores bigint[], finished_ats bigint[],
  response_times bigint[], responses text[], errors text[], run_usages text[], nows bigint[], event_runs bigint[],
  event_ids text[], event_messages text[], event_sessions text[], event_names text[], bodies text[],
  traces text[], told_ats bigint[], project_ids text[], delivery_ids text[], webhook_seqs text[],
  due_ats text[], leases text[], order_keys text[], topic_projects text[], topic_names text[],
  topic_versions text[], hook_versions bigint[])
returns table (
  place bigint, "sessionWaits" boolean, id text, "projectId" text, "agentId" text,
  "sessionId" text, message text, metadata text, principal text, fingerprint text, trace text,
  attempt integer, inputs text, "createdAt" bigint, waiting text[])
${HOT} ${BATCH_LOCK_TIMEOUT} as $$
#variable_conflict use_column
begin
  perform agent_messaging.require_read_committed();
  perform 1 from unnest(message_ids) as g (message_id)
      join agent_messaging.messages m on m.id = g.message_id
      join agent_messaging.sessions s on s.seq = m.session_seq
    order by s.agent_id, s.session_id for update of s;
  place := case when exists (
    select 1 from unnest(topic_projects, topic_names, topic_versions) as t (project_id, name, version)
    where t.version <> coalesce((
      select string_agg(w.seq || ':' || w.xmin::text, ',' order by w.seq)
      from agent_messaging.subscriptions s
        join agent_messaging.webhooks w on w.seq = s.webhook_seq
      where s.project_id = t.project_id and s.event = any(array['*', t.name])), ''))
  then 0 when exists (
    select 1 from agent_messaging.messages m
    where m.hooks is not null and m.id = any(message_ids)
      and m.hooks <> coalesce(hook_versions[array_position(message_ids, m.id)], 0))
  then -1 end;
  if place is not null then
    return next;
    return;
  end if;
  if order_keys is not null then
    perform agent_messaging.lock_orders(array(
      select key from unnest(order_keys) as given (keys), unnest(given.keys::text[]) as key));
  end if;
  if order_keys is null then
    ${settle(false)}
  else
    ${settle(true)}
  end if;
end $$;
`
