/**
 * `seq` orders the rows and the pages. Ids are UUIDv7 and are visible outside. Rows refer to
 * sessions, webhooks, events and deliveries by `seq`, which keeps the large tables narrow. Instants
 * are milliseconds since 1970. JSON is text. Columns named `headers` and `secret` are sealed.
 *
 * Partial indexes contain only open rows (`due_at`, `unanswered`, `undelivered`), so a claim costs
 * the same in an empty file as among millions of finished rows. The indexes of `finished_at` and
 * `open_until` serve the purge. Rows arrive at their end, so they cost little.
 */
export const tables = `
-- A release must know at least this many migrations to work with the file.
create table schema_version (works_from integer not null) strict;
insert into schema_version values (1);

create table settings (name text primary key, value text not null) strict, without rowid;

create table projects (
  seq integer primary key,
  id text not null unique,
  name text not null,
  external_id text unique,
  send_limits text,
  created_at integer not null
) strict;

-- The counts of each commit, as JSON, until they are folded into rows.
create table count_entries (seq integer primary key, counts text not null) strict;

-- The sums of projects, agents and webhooks in steps of time.
create table counts (
  seq integer primary key,
  project_id text not null,
  subject text not null,
  step_ms integer not null,
  begins_at integer not null,
  subject_id text not null,
  counts text not null,
  unique (project_id, subject, step_ms, begins_at, subject_id)
) strict;
create index counts_step on counts (step_ms, begins_at);

-- The people of the days before people_until are counted, and of that day up to the project
-- people_after.
create table counting (people_until integer not null, people_after text not null) strict;
insert into counting values (0, '');

-- Token buckets of sends. full_at is in microseconds since 1970.
create table send_buckets (id text primary key, full_at integer not null) strict, without rowid;

create table api_keys (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  digest text not null unique,
  name text not null,
  permissions text not null,
  created_at integer not null,
  expires_at integer,
  revoked_at integer
) strict;
create index api_keys_project on api_keys (project_id);

-- The owner is the process that runs the agent. The process counts as alive until owned_until.
create table agents (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  name text not null,
  default_principal text not null,
  runtime_kind text not null,
  runtime_options text not null,
  runtime_secrets text,
  desired_state text not null,
  state text not null,
  started_at integer,
  last_error text,
  failures integer,
  retry_at integer,
  concurrency integer not null,
  max_attempts integer not null,
  max_queued integer not null,
  a2a text,
  owner text,
  owned_until integer,
  created_at integer not null,
  updated_at integer not null,
  unique (project_id, name)
) strict;
create index agents_project on agents (project_id);

-- The queue and the lock of a session's messages. Cancelled messages leave gaps between positions,
-- so open_count counts the open ones. Idle: due_at is null and head_position = last_position + 1.
-- The newest message orders the list of sessions. The state belongs to the agent's runtime.
create table sessions (
  seq integer primary key,
  agent_id text not null,
  session_id text not null,
  last_position integer not null,
  head_position integer not null,
  open_count integer not null,
  due_at integer,
  lease integer not null,
  last_message_id text not null,
  last_message_at integer not null,
  state text,
  unique (agent_id, session_id)
) strict;
create index sessions_due on sessions (agent_id, due_at) where due_at is not null;
create index sessions_activity on sessions (agent_id, last_message_id);

create table messages (
  seq integer primary key,
  id text not null unique,
  agent_id text not null,
  session_seq integer not null references sessions,
  position integer not null,
  idempotency_key text,
  fingerprint text,
  message text not null,
  request text,
  metadata text,
  principal text not null,
  trace text,
  earlier_turns text,
  attempt integer not null,
  state text not null,
  not_before integer,
  started_at integer,
  deadline_at integer,
  finished_at integer,
  response_time_ms integer,
  response text,
  error text,
  inputs text,
  input_due_at integer,
  usage text,
  -- 1 if the answer is more than text.
  has_parts integer,
  hook_version integer,
  created_at integer not null,
  -- The message was open at least until then. Only the purge changes it.
  open_until integer not null,
  -- The newest recovery that retried the message.
  recovery_seq integer,
  unique (session_seq, position)
) strict;
create unique index messages_key on messages (agent_id, idempotency_key) where idempotency_key is not null;
create index messages_agent on messages (agent_id);
create index messages_unanswered on messages (agent_id) where state <> 'responded';
create index messages_asking on messages (agent_id, seq) where input_due_at is not null;
create index messages_deadline on messages (agent_id, deadline_at, id, input_due_at) where input_due_at is not null;
create index messages_input_due on messages (input_due_at) where input_due_at is not null;
create index messages_created on messages (agent_id, created_at);
create index messages_end_user on messages (agent_id, principal ->> 'endUserId') where instr(principal, '"endUserId"') > 0;
create index messages_people on messages (agent_id, created_at / 86400000, principal ->> 'endUserId') where instr(principal, '"endUserId"') > 0;
create index messages_correlation on messages (agent_id, substr(metadata ->> 'correlationId', 1, 64)) where instr(metadata, '"correlationId"') > 0;
create index messages_open_until on messages (open_until);
create index messages_recovery on messages (recovery_seq, state, attempt) where recovery_seq is not null;

-- Runs that ended without an answer.
create table past_runs (
  seq integer primary key,
  message_id text not null references messages (id) on delete cascade,
  attempt integer not null,
  started_at integer not null,
  ended_at integer not null,
  reason text not null,
  error text,
  usage text
) strict;
create index past_runs_message on past_runs (message_id);

-- The parts of answers that are more than text.
create table message_parts (
  message_id text primary key,
  parts text not null,
  is_truncated integer not null
) strict;
create trigger messages_parts after delete on messages when old.has_parts is not null begin
  delete from message_parts where message_id = old.id;
end;

-- Owners of sessions that are not agents, or were deleted. Nothing reads their rows. The sweep
-- deletes them step by step.
create table erasures (seq integer primary key, agent_id text not null unique) strict;

-- The circuit is closed when circuit_until is null. A deleted webhook keeps its row without its
-- secrets, because its deliveries refer to the row. A row with a message_id is a hook of that
-- message, and names its receiver: the row without a URL that all hooks of one project and origin
-- share. The message_id of a receiver is empty. Autoincrement uses no seq twice, because processes remember webhooks by their seq.
create table webhooks (
  seq integer primary key autoincrement,
  id text not null unique,
  project_id text not null,
  url text not null,
  events text not null,
  filter text,
  description text,
  secret text not null,
  previous_secret text,
  previous_until integer,
  header_names text,
  headers text,
  disable_on_gone integer not null,
  ordering text not null,
  payload text not null,
  sending text,
  paused integer not null,
  disabled_at integer,
  disabled_reason text,
  consecutive_failures integer not null,
  failing_since integer,
  last_success_at integer,
  last_failure_at integer,
  circuit_until integer,
  circuit_trips integer not null,
  reported_failing_since integer,
  message_id text,
  hook_name text,
  receiver text,
  created_at integer not null,
  updated_at integer not null,
  is_deleted integer not null default 0
) strict;
create index webhooks_project on webhooks (project_id) where is_deleted = 0 and message_id is null;
create index webhooks_deleted on webhooks (id) where is_deleted = 1;
create index webhooks_ended on webhooks (seq) where is_deleted = 1 and message_id is not null;
create index webhooks_message on webhooks (message_id) where message_id is not null;
create index webhooks_receiver on webhooks (receiver) where receiver is not null;
create index webhooks_unhealthy on webhooks (is_deleted, disabled_at, circuit_until) where disabled_at is not null or circuit_until is not null;

-- Hooks end with their message. The sweep then deletes their rows.
create trigger messages_hooks after delete on messages when old.hook_version is not null begin
  update webhooks set url = '', secret = '', header_names = null, headers = null, is_deleted = 1
  where message_id = old.id;
end;

-- The processes that share the limits of webhooks.
create table senders (id text primary key, until integer not null) strict, without rowid;

create table subscriptions (
  project_id text not null,
  event text not null,
  webhook_seq integer not null,
  primary key (project_id, event, webhook_seq)
) strict, without rowid;

-- The log of events. One process writes at a time, so seq is the order of the commits.
-- Autoincrement uses no seq twice, so a reader can continue from any seq.
create table events (
  seq integer primary key autoincrement,
  id text not null,
  project_id text not null,
  has_deliveries integer not null,
  message_id text,
  session_id text,
  name text not null,
  body text not null,
  trace text,
  -- Of a published event: its person, its agent, and what a repeated request must match.
  end_user_id text,
  agent_id text,
  fingerprint text,
  created_at integer not null
) strict;
create unique index events_id on events (id, project_id);
create index events_published on events (agent_id, session_id) where agent_id is not null;
create index events_project on events (project_id);
create index events_alone on events (created_at) where has_deliveries = 0 and fingerprint is null;
create index events_named on events (created_at) where has_deliveries = 0 and fingerprint is not null;
create index events_message on events (message_id) where has_deliveries = 1 and message_id is not null;
create index events_session on events (project_id, session_id) where has_deliveries = 1 and session_id is not null;

-- The requests with an Idempotency-Key that published events.
create table publish_requests (
  request_key text not null,
  project_id text not null,
  fingerprint text not null,
  created_at integer not null,
  primary key (request_key, project_id)
) strict, without rowid;
create index publish_requests_age on publish_requests (created_at);

-- The highest seq that a purge deleted. A reader's position below it has expired.
create table event_logs (project_id text primary key, floor integer not null) strict, without rowid;

-- The place of each listener of a log, and the process that holds it until owned_until.
create table event_listeners (
  project_id text not null,
  name text not null,
  cursor text not null,
  owner text not null,
  owned_until integer not null,
  primary key (project_id, name)
) strict;

-- Final: due_at is null. Claimed: is_claimed is 1, and due_at is the end of the lease. The index
-- deliveries_due separates first attempts from retries, so that a claim finds either at once. Of
-- the open deliveries with one order_key, all but the first wait: their due_at is the largest
-- integer of JavaScript, which no clock reaches.
create table deliveries (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  webhook_seq integer not null references webhooks,
  -- The webhook, or the receiver of the hook.
  receiver_seq integer not null,
  event_seq integer not null references events,
  state text not null,
  is_claimed integer not null default 0,
  step integer not null,
  attempt_count integer not null,
  due_at integer,
  resume_at integer,
  lease integer not null,
  finished_at integer,
  cancelled_reason text,
  order_key text,
  -- Null: the body of the event.
  body text,
  -- The newest recovery that made the delivery due, and the number of attempts before that.
  recovery_seq integer,
  recovery_attempts integer,
  created_at integer not null
) strict;
create index deliveries_due on deliveries (receiver_seq, attempt_count > 0, due_at) where due_at is not null;
create index deliveries_project on deliveries (project_id);
create index deliveries_webhook on deliveries (webhook_seq);
create index deliveries_undelivered on deliveries (project_id) where state <> 'delivered';
create index deliveries_recovery on deliveries
  (recovery_seq, state, attempt_count, recovery_attempts, finished_at)
  where recovery_seq is not null;
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;
create index deliveries_event on deliveries (event_seq);
create index deliveries_order on deliveries (order_key) where order_key is not null and due_at is not null;
create index deliveries_waiting on deliveries (project_id, created_at) where due_at = 9007199254740991;

-- Tasks that redeliver the matches of a filter, or retry an agent's failed messages. A running one
-- continues after page_cursor. The last page orders the turns of running tasks. The counts of ended deliveries are
-- null until the task is settled. Autoincrement uses no seq twice, because its rows name it.
create table recoveries (
  seq integer primary key autoincrement,
  id text not null unique,
  project_id text not null,
  filter text not null,
  state text not null,
  failure text,
  matched integer not null,
  redelivered integer not null,
  delivered integer,
  exhausted integer,
  cancelled integer,
  page_cursor text,
  last_page_at integer not null,
  finished_at integer,
  created_at integer not null
) strict;
create index recoveries_project on recoveries (project_id);
create index recoveries_running on recoveries (last_page_at)
  where state in ('running', 'trying');
create index recoveries_unsettled on recoveries (seq)
  where delivered is null and state not in ('running', 'trying', 'paused');
create index recoveries_paused on recoveries (last_page_at) where state = 'paused';
create index recoveries_finished on recoveries (finished_at)
  where finished_at is not null;

-- Rows that left their recovery: a newer recovery or a person took them over, or they were
-- deleted. The settled recovery has their counts.
create table recovery_leavers (
  seq integer primary key,
  recovery_seq integer not null,
  state text not null,
  finished_at integer
) strict;
create index recovery_leavers_recovery on recovery_leavers
  (recovery_seq, state, finished_at);

-- The log of changes.
create table audit_log (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  actor_kind text not null,
  actor_id text,
  actor_name text,
  action text not null,
  target_id text not null,
  target_name text,
  count integer,
  fields text,
  changes text,
  created_at integer not null
) strict;
create index audit_log_project on audit_log (project_id);
create index audit_log_target on audit_log (target_id);
create index audit_log_created on audit_log (created_at);

-- Visits of customers, each opened by a link. The digest is that of the link's code.
create table portal_sessions (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  digest text not null unique,
  permissions text not null,
  is_read_only integer not null,
  title text,
  return_url text,
  created_at integer not null,
  link_until integer not null,
  until integer not null,
  opened_at integer,
  ended_at integer
) strict;
create index portal_sessions_project on portal_sessions (project_id);
create index portal_sessions_until on portal_sessions (until);

-- The types of events that people define. The project of the installation's types is the nil UUID.
create table event_types (
  project_id text not null,
  name text not null,
  facts text not null,
  schema text,
  example text,
  created_at integer not null,
  updated_at integer not null,
  primary key (project_id, name)
) strict;

-- Attempts share few sets of header names, so each set is stored once. The values are one per line.
create table header_names (seq integer primary key, names text not null unique) strict;

create table attempts (
  delivery_seq integer not null references deliveries,
  attempt_number integer not null,
  started_at integer not null,
  duration_ms integer not null,
  url text,
  outcome text not null,
  header_names_seq integer references header_names,
  header_values text,
  -- The webhook of an attempt that was not accepted.
  failed_webhook_seq integer,
  primary key (delivery_seq, attempt_number)
) strict, without rowid;
create index attempts_failed on attempts (failed_webhook_seq, started_at) where failed_webhook_seq is not null;
`
