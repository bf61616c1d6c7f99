import { BATCH_LOCK_TIMEOUT, HOT } from '../hot-function.js'

/**
 * Numbers and stores attempts, each of another delivery, and moves the deliveries to their next
 * state. Locks deliveries in the order in which operators lock them. Any process can record that a
 * receiver accepted a delivery. Only the holder of the claim can record anything else. Decides like
 * `attemptCounts` of core. The contract compares the two.
 *
 * A second statement makes the next delivery due after each delivery with an order key that ended.
 */
export const recordAttempts = `
create or replace function agent_messaging.record_attempts(
  delivery_ids text[], tokens bigint[], are_accepted boolean[], started_ats bigint[],
  durations bigint[], urls text[], outcomes text[], header_names bigint[],
  header_values text[], states text[], steps int[], due_ats bigint[], finished_ats bigint[])
returns table (place bigint, "webhookSeq" bigint, "nextIsDue" boolean)
${HOT} ${BATCH_LOCK_TIMEOUT} as $$
#variable_conflict use_column
declare
  places bigint[];
  webhook_seqs bigint[];
  -- The order keys of deliveries that ended. Null for any other delivery.
  ended text[];
  advanced text[];
begin
  perform agent_messaging.require_read_committed();
  -- Reads the locked rows as they are now, even if they changed after this statement began.
  with locked as materialized (
    select g.*, d.seq, d.webhook_seq, d.state as was, d.lease, d.order_key,
      d.attempt_count + 1 as attempt_number
    from unnest(delivery_ids, tokens, are_accepted, started_ats, durations, urls, outcomes,
        header_names, header_values, states, steps, due_ats, finished_ats)
      with ordinality as g (delivery_id, token, is_accepted, started_at, duration, url, outcome,
        header_names_seq, header_values, state, step, due_at, finished_at, place)
      join agent_messaging.deliveries d on d.id = g.delivery_id
    order by d.seq desc for update of d),
  counted as materialized (
    select * from locked where was in ('sending', 'pending')
      and (is_accepted or (was = 'sending' and lease = token))),
  kept as (
    insert into agent_messaging.attempts (delivery_seq, attempt_number, started_at, duration_ms,
      url, outcome, header_names_seq, header_values)
    select seq, attempt_number, started_at, duration, url, outcome, header_names_seq, header_values
    from counted),
  moved as (
    update agent_messaging.deliveries d set state = c.state, step = coalesce(c.step, d.step),
      due_at = c.due_at, resume_at = null, finished_at = c.finished_at,
      attempt_count = c.attempt_number
    from counted c where d.id = c.delivery_id)
  select array_agg(c.place), array_agg(c.webhook_seq),
    array_agg(case when c.finished_at is not null then c.order_key end)
  into places, webhook_seqs, ended from counted c;
  if cardinality(array_remove(ended, null)) > 0 then
    advanced := array(select agent_messaging.advance_orders(array_remove(ended, null),
      (select max(finished.at) from unnest(finished_ats) as finished (at))));
  end if;
  return query
    select recorded.place, recorded.webhook_seq, coalesce(recorded.ended = any(advanced), false)
    from unnest(places, webhook_seqs, ended) as recorded (place, webhook_seq, ended);
end $$;
`
