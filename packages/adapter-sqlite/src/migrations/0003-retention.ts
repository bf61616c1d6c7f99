/**
 * What a purge goes by: rows come to the end of these indexes as they are finished, so keeping them costs next to nothing.
 * `deliveries_event` also spares the deletion of an event a look at all deliveries. The last one holds the few webhooks that
 * something is the matter with.
 */
export const retention = `
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;
create index deliveries_event on deliveries (event_seq);
create index messages_finished on messages (finished_at) where finished_at is not null;
create index webhooks_ailing on webhooks (is_deleted, disabled_at, circuit_until) where disabled_at is not null or circuit_until is not null;
`
