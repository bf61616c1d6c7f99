/**
 * A message is written when it is accepted and when it is answered: the second finds room in its page, and touches no index (HOT). The
 * tables whose rows are all updated are swept early, before what is dead in their indexes of open rows costs each claim a step.
 * `works_from`: the oldest release, by the number of migrations that it knows, that goes on working with this schema.
 */
export const tables = `
alter table agent_messaging.messages set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
alter table agent_messaging.sessions set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
alter table agent_messaging.deliveries set (autovacuum_vacuum_scale_factor = 0.05);
alter table agent_messaging.schema_version add column works_from integer not null default 1;
`
