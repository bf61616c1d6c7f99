-- Counts the updates of a webhook that processes must see before they make its deliveries. The time
-- of its last success is none of them: with many webhooks it is written all the time.
create or replace function agent_messaging.webhook_version() returns trigger language plpgsql as $$
begin
  new.version := old.version + 1;
  return new;
end $$;

create or replace trigger webhooks_version before update of
    url, events, filter, description, secret, header_names, headers, previous_secret,
    previous_until, disable_on_gone, ordering, payload, sending, paused, disabled_at,
    disabled_reason, consecutive_failures, failing_since, last_failure_at, circuit_until,
    circuit_trips, reported_failing_since, receiver, updated_at, is_deleted
  on agent_messaging.webhooks for each row execute function agent_messaging.webhook_version();
