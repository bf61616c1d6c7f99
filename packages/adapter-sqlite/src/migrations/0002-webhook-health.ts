/**
 * What a webhook's attempts came to of late, and its circuit: closed when `circuit_until` is null. In a webhook's lane the
 * retries now stand apart from the first attempts, so that either are found at once however many of the other are due.
 */
export const webhookHealth = `
alter table webhooks add column disable_on_gone integer not null default 0;
alter table webhooks add column disabled_reason text;
alter table webhooks add column consecutive_failures integer not null default 0;
alter table webhooks add column failing_since integer;
alter table webhooks add column last_success_at integer;
alter table webhooks add column last_failure_at integer;
alter table webhooks add column circuit_until integer;
alter table webhooks add column circuit_trips integer not null default 0;
update webhooks set disabled_reason = 'operator' where disabled_at is not null;

drop index deliveries_due;
create index deliveries_due on deliveries (webhook_seq, attempt_count > 0, due_at) where due_at is not null;
`
