import { HOT, LOCK_TIMEOUT, NO_SORT } from '../hot-function.js'

/**
 * Claims the oldest due deliveries of each share: a webhook, first attempts or retries, a count, a
 * floor and the end of the lease. Skips deliveries that another transaction has locked. The process
 * that gets the row of a half-open webhook is the only one that probes the webhook.
 */
export const claimDeliveries = `
create or replace function agent_messaging.claim_deliveries(
  webhooks bigint[], are_retries boolean[], counts bigint[], floors bigint[], half_open bigint[],
  at bigint, untils bigint[])
returns table (
  seq bigint, id text, "projectId" text, "webhookSeq" bigint, "eventId" text, event text,
  "attemptCount" integer, step integer, "resumeAt" bigint, lease bigint, "orderKey" text, "createdAt" bigint,
  body text, trace text, "wasDueAt" bigint)
${HOT} ${NO_SORT} ${LOCK_TIMEOUT} as $$
#variable_conflict use_column
begin
  perform agent_messaging.require_read_committed();
  return query
    with probed as materialized (
      select w.seq from agent_messaging.webhooks w
      where w.seq = any(half_open) and w.circuit_until <= at for no key update skip locked),
    taken as materialized (
      select d.id, d.due_at, share.until
      from unnest(webhooks, are_retries, counts, floors, untils)
        as share (webhook, is_retry, count, floor, until)
      cross join lateral (
        select q.id, q.due_at from agent_messaging.deliveries q
        where q.webhook_seq = share.webhook and (q.attempt_count > 0) = share.is_retry
          and q.due_at between share.floor and at
        order by q.due_at limit share.count for update skip locked) d
      where share.webhook <> all(half_open) or share.webhook in (select p.seq from probed p)),
    claimed as (
      update agent_messaging.deliveries d set state = 'sending', due_at = taken.until, lease = d.lease + 1
      from taken where d.id = any(array[taken.id])
      returning d.*, taken.due_at as was_due_at),
    held as (
      update agent_messaging.webhooks w set circuit_until = c.due_at
      from (select distinct webhook_seq, due_at from claimed) c
      where w.seq = any(half_open) and w.seq = c.webhook_seq)
    select c.seq, c.id, c.project_id, c.webhook_seq, e.id, e.name, c.attempt_count, c.step,
      c.resume_at, c.lease, c.order_key, c.created_at, e.body, e.trace, c.was_due_at
    from claimed c join agent_messaging.events e on e.seq = any(array[c.event_seq]);
end $$;
`
