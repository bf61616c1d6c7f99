-- Numbers and stores attempts, each of another delivery, and moves the deliveries to their next
-- state. Locks deliveries in the order in which operators lock them. Any process can record that a
-- receiver accepted a delivery. Only the holder of the claim can record anything else. Decides like
-- `attemptCounts` of core. The contract compares the two.
--
-- A second statement makes the next delivery due after each delivery with an order key that ended.
create or replace function agent_messaging.record_attempts(attempts jsonb)
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
