-- Deletes the past runs and the parts of deleted messages. A trigger of the statement costs a purge less than a
-- foreign key, which looks up the runs of each message.
create or replace function agent_messaging.remove_past_runs() returns trigger language plpgsql
  set enable_seqscan = off as $$
begin
  delete from agent_messaging.past_runs where message_id = any(array(select m.id from removed m));
  delete from agent_messaging.message_parts
    where message_id = any(array(select m.id from removed m where m.has_parts is not null));
  return null;
end $$;

create or replace trigger messages_past_runs after delete on agent_messaging.messages
  referencing old table as removed
  for each statement execute function agent_messaging.remove_past_runs();
