import { HOT, LOCK_TIMEOUT } from '../hot-function.js'

/**
 * Returns the webhooks that subscribe to each event, with any filter, by the place of the event.
 * Each batch of answers asks for them, so a function with cached plans replaces a statement that is
 * planned each time. A webhook's version changes with every update of its row.
 */
export const subscribers = `
create or replace function agent_messaging.subscribers(project_ids text[], names text[])
returns table (topic bigint, version text, webhook agent_messaging.webhooks)
${HOT} ${LOCK_TIMEOUT} as $$
#variable_conflict use_column
begin
  return query
    select topic.place - 1, w.seq || ':' || w.xmin::text, w
    from unnest(project_ids, names) with ordinality as topic (project_id, name, place)
      join agent_messaging.subscriptions s
        on s.project_id = any(array[topic.project_id]) and s.event = any(array['*', topic.name])
      join agent_messaging.webhooks w on w.seq = any(array[s.webhook_seq])
    order by topic.place, w.seq;
end $$;
`
