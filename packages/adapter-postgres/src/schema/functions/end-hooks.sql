-- Marks the hooks of a deleted message as deleted, and removes their URLs and secrets. The sweep
-- then deletes the rows.
create or replace function agent_messaging.end_hooks() returns trigger language plpgsql as $$
begin
  update agent_messaging.webhooks
  set url = '', secret = '', header_names = null, headers = null, is_deleted = true
  where message_id = old.id;
  return null;
end $$;

create or replace trigger messages_hooks after delete on agent_messaging.messages
  for each row when (old.hook_version is not null) execute function agent_messaging.end_hooks();
