/**
 * A session knows how many of its messages are open, since cancelled ones leave gaps between the positions; its newest message,
 * which lists are ordered by; and what its runtime keeps there. `erasures` names owners of sessions that are no agents, or no
 * more: nothing reads what is theirs, and all of it is removed little by little.
 */
export const sessions = `
alter table sessions add column open_count integer not null default 0;
alter table sessions add column last_message_id text not null default '';
alter table sessions add column last_message_at integer not null default 0;
alter table sessions add column state text;

update sessions set open_count = last_position - head_position + 1;
update sessions set last_message_id = m.id, last_message_at = m.created_at
  from messages m where m.session_seq = sessions.seq and m.position = sessions.last_position;
create index sessions_activity on sessions (agent_id, last_message_id);

create table erasures (seq integer primary key, agent_id text not null unique) strict;
`
