-- Claims the oldest due deliveries of each share: a webhook or a receiver of hooks, first attempts or retries, a count, a
-- floor and the end of the lease. Skips deliveries that another transaction has locked. The process
-- that gets the row of a half-open webhook is the only one that probes the webhook.
create or replace function agent_messaging.claim_deliveries(shares jsonb, at bigint)
returns table (
  seq bigint, id text, "projectId" text, "webhookSeq" bigint, "receiverSeq" bigint, "eventId" text, event text,
  "attemptCount" integer, step integer, "resumeAt" bigint, lease bigint, "orderKey" text,
  "createdAt" bigint, body text, trace text, "wasDueAt" bigint)
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_memoize = off set jit = off
  set plan_cache_mode = force_generic_plan
  set enable_sort = off set enable_incremental_sort = off
  set lock_timeout = '10s' as $$
#variable_conflict use_column
begin
  perform agent_messaging.require_read_committed();
  return query
    with share as materialized (
      select * from jsonb_to_recordset(shares) as s ("receiverSeq" bigint, "isHalfOpen" boolean,
        "isRetry" boolean, count bigint, floor bigint, until bigint)),
    probed as materialized (
      select w.seq from agent_messaging.webhooks w
      where w.seq = any(array(select s."receiverSeq" from share s where s."isHalfOpen"))
        and w.circuit_until <= at for no key update skip locked),
    taken as materialized (
      select d.id, d.due_at, share.until
      from share cross join lateral (
        select q.id, q.due_at from agent_messaging.deliveries q
        where q.receiver_seq = share."receiverSeq" and (q.attempt_count > 0) = share."isRetry"
          and q.due_at between share.floor and at
        order by q.due_at limit share.count for update skip locked) d
      where not share."isHalfOpen" or share."receiverSeq" in (select p.seq from probed p)),
    claimed as (
      update agent_messaging.deliveries d set state = 'sending', due_at = taken.until,
        lease = d.lease + 1
      from taken where d.id = any(array[taken.id])
      returning d.*, taken.due_at as was_due_at),
    held as (
      update agent_messaging.webhooks w set circuit_until = c.due_at
      from (select distinct receiver_seq, due_at from claimed) c
      where w.seq = c.receiver_seq and w.seq in (select p.seq from probed p))
    select c.seq, c.id, c.project_id, c.webhook_seq, c.receiver_seq, e.id, e.name, c.attempt_count, c.step,
      c.resume_at, c.lease, c.order_key, c.created_at, coalesce(c.body, e.body), e.trace, c.was_due_at
    from claimed c join agent_messaging.events e on e.seq = any(array[c.event_seq]);
end $$;
