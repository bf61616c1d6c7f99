/**
 * The tables, in a schema beside the tables of a host.
 *
 * - `seq` orders rows and marks places in pages. Callers know the ids, UUIDv7, compared by byte.
 * - Instants are milliseconds since 1970. JSON is text: `jsonb` would reorder signed bodies.
 * - Indexes on `due_at` and on undelivered deliveries hold open rows only.
 * - No index on messages names a column that an answer changes. So its update stays within its page
 *   and writes into no index (HOT). Running messages are found by their sessions.
 * - Foreign keys are left out where each commit would pay for them. Webhooks and header names would
 *   be locked by each commit, and are never deleted. The session of a message, the event of a
 *   delivery and the delivery of an attempt are inserted or locked by the same transaction, and the
 *   check would look them up again.
 * - Messages are updated once or twice, so half of each page stays free. Tables whose rows are all
 *   updated are vacuumed early, before dead rows in their partial indexes slow down claims.
 */
export const tables = `
-- The processes that share the limits of webhooks.
create table agent_messaging.senders (
  id text collate "C" primary key, until bigint not null);

create table agent_messaging.settings (name text primary key, value text not null);

create table agent_messaging.projects (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  name text not null,
  external_id text collate "C" unique,
  send_limits text,
  created_at bigint not null
);

-- The counts of each commit, as JSON, until they are folded into rows. No commit waits for another.
create table agent_messaging.count_entries (
  seq bigint generated always as identity primary key,
  counts text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The sums of projects, agents and webhooks in steps of time.
create table agent_messaging.counts (
  seq bigint generated always as identity primary key,
  project_id text collate "C" not null,
  subject text collate "C" not null,
  step_ms bigint not null,
  begins_at bigint not null,
  subject_id text collate "C" not null,
  counts text not null,
  unique (project_id, subject, step_ms, begins_at, subject_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
create index counts_step on agent_messaging.counts (step_ms, begins_at);

-- The process that locks the only row folds the counts.
-- The people of the days before people_until are
-- counted, and of that day up to the project people_after.
create table agent_messaging.counting (
  people_until bigint not null, people_after text collate "C" not null
);
insert into agent_messaging.counting values (0, '');

-- Token buckets of sends. full_at is in microseconds since 1970.
create table agent_messaging.send_buckets (
  id text collate "C" primary key, full_at bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

create table agent_messaging.api_keys (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  digest text collate "C" not null unique,
  name text not null,
  permissions text not null,
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint
);
create index api_keys_project on agent_messaging.api_keys (project_id, seq);

create table agent_messaging.agents (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  name text collate "C" not null,
  default_principal text not null,
  runtime_kind text not null,
  runtime_options text not null,
  runtime_secrets text,
  desired_state text not null,
  state text not null,
  started_at bigint,
  last_error text,
  failures integer,
  retry_at bigint,
  concurrency integer not null,
  max_attempts integer not null,
  max_queued integer not null,
  a2a text,
  created_at bigint not null,
  updated_at bigint not null,
  -- The process that hosts the agent, if only one can, and until when that process counts as alive.
  owner text,
  owned_until bigint,
  unique (project_id, name)
);
create index agents_project on agent_messaging.agents (project_id, seq);

-- A session is the queue of its messages and their lock.
-- An idle session has due_at null and head_position = last_position + 1.
create table agent_messaging.sessions (
  seq bigint generated always as identity primary key,
  agent_id text collate "C" not null,
  session_id text collate "C" not null,
  last_position bigint not null,
  head_position bigint not null,
  open_count integer not null,
  due_at bigint,
  lease bigint not null,
  last_message_id text collate "C" not null,
  last_message_at bigint not null,
  state text,
  unique (agent_id, session_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index sessions_due on agent_messaging.sessions (agent_id, due_at) where due_at is not null;
create index sessions_activity on agent_messaging.sessions (agent_id, last_message_id);

create table agent_messaging.messages (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  agent_id text collate "C" not null,
  session_seq bigint not null,
  position bigint not null,
  idempotency_key text collate "C",
  fingerprint text,
  message text not null,
  request text,
  metadata text,
  principal text not null,
  trace text,
  earlier_turns text,
  attempt integer not null,
  state text not null,
  not_before bigint,
  started_at bigint,
  deadline_at bigint,
  finished_at bigint,
  response_time_ms bigint,
  response text,
  error text,
  inputs text,
  input_due_at bigint,
  usage text,
  -- 1 if the answer is more than text.
  has_parts smallint,
  hook_version bigint,
  created_at bigint not null,
  -- The message was open at least until then. Only the purge changes it.
  open_until bigint not null,
  -- The newest recovery that retried the message.
  recovery_seq bigint,
  -- True if the message neither runs nor has an answer.
  is_idle boolean generated always as (state not in ('running', 'responded')) stored,
  unique (session_seq, position)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
create unique index messages_key on agent_messaging.messages (agent_id, idempotency_key)
  where idempotency_key is not null;
create index messages_agent on agent_messaging.messages (agent_id, seq);
create index messages_idle on agent_messaging.messages (agent_id, seq) where is_idle;
create index messages_asking on agent_messaging.messages (agent_id, seq)
  where input_due_at is not null;
create index messages_deadline on agent_messaging.messages (agent_id, deadline_at, id)
  where input_due_at is not null;
create index messages_input_due on agent_messaging.messages (input_due_at)
  where input_due_at is not null;
create index messages_hooks on agent_messaging.messages (id) where hook_version is not null;
create index messages_created on agent_messaging.messages (agent_id, created_at, seq);
create index messages_end_user
  on agent_messaging.messages (agent_id, (principal::jsonb ->> 'endUserId'), seq)
  where strpos(principal, '"endUserId"') > 0;
create index messages_people
  on agent_messaging.messages
    (agent_id, (created_at / 86400000), (principal::jsonb ->> 'endUserId'))
  where strpos(principal, '"endUserId"') > 0;
create index messages_correlation
  on agent_messaging.messages (agent_id, "left"(metadata::jsonb ->> 'correlationId', 64), seq)
  where strpos(metadata, '"correlationId"') > 0;
create index messages_open_until on agent_messaging.messages (open_until);
create index messages_recovery on agent_messaging.messages (recovery_seq)
  where recovery_seq is not null;

-- Runs that ended without an answer.
create table agent_messaging.past_runs (
  message_id text collate "C" not null,
  seq bigint generated always as identity,
  attempt integer not null,
  started_at bigint not null,
  ended_at bigint not null,
  reason text not null,
  error text,
  usage text,
  primary key (message_id, seq)
);

-- The parts of answers that are more than text.
create table agent_messaging.message_parts (
  message_id text collate "C" primary key,
  parts text not null,
  is_truncated smallint not null
);

-- Owners of erased sessions, and deleted agents. The sweep deletes their sessions and messages.
create table agent_messaging.erasures (
  seq bigint generated always as identity primary key,
  agent_id text collate "C" not null unique
);

-- A deleted webhook keeps its row without secrets, because its deliveries name the webhook.
-- The circuit is closed if circuit_until is null. A row with a message_id is a message's hook, and
-- names its receiver: the row without a URL that all hooks of one project and origin share. The
-- message_id of a receiver is empty.
create table agent_messaging.webhooks (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  url text not null,
  events text not null,
  filter text,
  description text,
  secret text not null,
  header_names text,
  headers text,
  previous_secret text,
  previous_until bigint,
  disable_on_gone boolean not null,
  ordering text not null,
  payload text not null,
  sending text,
  paused boolean not null,
  disabled_at bigint,
  disabled_reason text,
  consecutive_failures bigint not null,
  failing_since bigint,
  last_success_at bigint,
  last_failure_at bigint,
  circuit_until bigint,
  circuit_trips bigint not null,
  reported_failing_since bigint,
  message_id text collate "C",
  hook_name text collate "C",
  receiver text collate "C",
  created_at bigint not null,
  updated_at bigint not null,
  is_deleted boolean not null default false,
  version bigint not null default 0
);
create index webhooks_project on agent_messaging.webhooks (project_id, seq)
  where not is_deleted and message_id is null;
create index webhooks_deleted on agent_messaging.webhooks (seq) where is_deleted;
create index webhooks_ended on agent_messaging.webhooks (seq)
  where is_deleted and message_id is not null;
create index webhooks_message on agent_messaging.webhooks (message_id)
  where message_id is not null;
create index webhooks_receiver on agent_messaging.webhooks (receiver)
  where receiver is not null;
create index webhooks_unhealthy on agent_messaging.webhooks (seq)
  where not is_deleted and (disabled_at is not null or circuit_until is not null);

create table agent_messaging.subscriptions (
  project_id text collate "C" not null,
  event text collate "C" not null,
  webhook_seq bigint not null references agent_messaging.webhooks,
  primary key (project_id, event, webhook_seq)
);

-- The log of events. An event gets its position in the log after its commit, when a reader asks.
-- So events have positions in the order in which readers can see them.
create table agent_messaging.events (
  seq bigint generated always as identity primary key,
  id text collate "C" not null,
  project_id text collate "C" not null,
  position bigint,
  has_deliveries boolean not null,
  message_id text collate "C",
  session_id text collate "C",
  name text not null,
  body text not null,
  trace text,
  -- Of a published event: its person, its agent, and what a repeated request must match.
  end_user_id text collate "C",
  agent_id text collate "C",
  fingerprint text,
  created_at bigint not null
) with (autovacuum_vacuum_scale_factor = 0.05);
create unique index events_id on agent_messaging.events (id, project_id);
create index events_published on agent_messaging.events (agent_id, session_id)
  where agent_id is not null;
create index events_unplaced on agent_messaging.events (project_id, seq) where position is null;
create index events_log on agent_messaging.events (project_id, position)
  where position is not null;
create index events_alone on agent_messaging.events (created_at)
  where not has_deliveries and fingerprint is null;
create index events_named on agent_messaging.events (created_at)
  where not has_deliveries and fingerprint is not null;
create index events_message on agent_messaging.events (message_id)
  where has_deliveries and message_id is not null;
create index events_session on agent_messaging.events (project_id, session_id, seq)
  where has_deliveries and session_id is not null;

-- The requests with an Idempotency-Key that published events.
create table agent_messaging.publish_requests (
  request_key text collate "C" not null,
  project_id text collate "C" not null,
  fingerprint text not null,
  created_at bigint not null,
  primary key (request_key, project_id)
);
create index publish_requests_age on agent_messaging.publish_requests (created_at);

-- One row for each project with readers. A reader's position below the floor has expired.
create table agent_messaging.event_logs (
  project_id text collate "C" primary key,
  last_position bigint not null default 0,
  floor bigint not null
);

-- The place of each listener of a log, and the process that holds it until owned_until.
create table agent_messaging.event_listeners (
  project_id text collate "C" not null,
  name text collate "C" not null,
  cursor text not null,
  owner text not null,
  owned_until bigint not null,
  primary key (project_id, name)
);

-- A final delivery has due_at null. A claimed one has state 'sending', and due_at ends its lease.
-- Of the open deliveries with one order_key, all but the first wait: their due_at is the largest
-- integer of JavaScript, which no clock reaches.
create table agent_messaging.deliveries (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  webhook_seq bigint not null,
  -- The webhook, or the receiver of the hook.
  receiver_seq bigint not null,
  event_seq bigint not null,
  state text not null,
  step integer not null,
  attempt_count integer not null,
  due_at bigint,
  resume_at bigint,
  lease bigint not null,
  finished_at bigint,
  cancelled_reason text,
  order_key text collate "C",
  -- Null: the body of the event.
  body text,
  -- The newest recovery that made the delivery due, and the number of attempts before that.
  recovery_seq bigint,
  recovery_attempts integer,
  created_at bigint not null
) with (autovacuum_vacuum_scale_factor = 0.05);
-- First attempts come apart from retries, so that due ones of either kind are found at once.
create index deliveries_due on agent_messaging.deliveries (receiver_seq, (attempt_count > 0), due_at)
  where due_at is not null;
create index deliveries_project on agent_messaging.deliveries (project_id, seq);
create index deliveries_webhook on agent_messaging.deliveries (webhook_seq, seq);
create index deliveries_undelivered on agent_messaging.deliveries (project_id, seq)
  where state <> 'delivered';
create index deliveries_event on agent_messaging.deliveries (event_seq);
create index deliveries_waiting on agent_messaging.deliveries (project_id, created_at)
  where due_at = 9007199254740991;
create index deliveries_order on agent_messaging.deliveries (order_key, seq)
  where order_key is not null and finished_at is null;
create index deliveries_recovery on agent_messaging.deliveries
  (recovery_seq, state, attempt_count, recovery_attempts, finished_at)
  where recovery_seq is not null;
create index deliveries_finished on agent_messaging.deliveries (finished_at)
  where finished_at is not null;

-- Tasks that redeliver the matches of a filter, or retry an agent's failed messages. A running one
-- continues after page_cursor. The last page orders the turns of running tasks. The counts of ended deliveries are
-- null until the task is settled.
create table agent_messaging.recoveries (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  filter text not null,
  state text not null,
  failure text,
  matched bigint not null,
  redelivered bigint not null,
  delivered bigint,
  exhausted bigint,
  cancelled bigint,
  page_cursor text collate "C",
  last_page_at bigint not null,
  finished_at bigint,
  created_at bigint not null
);
create index recoveries_project on agent_messaging.recoveries (project_id, seq);
create index recoveries_running on agent_messaging.recoveries (last_page_at, seq)
  where state in ('running', 'trying');
create index recoveries_unsettled on agent_messaging.recoveries (seq)
  where delivered is null and state not in ('running', 'trying', 'paused');
create index recoveries_paused on agent_messaging.recoveries (last_page_at) where state = 'paused';
create index recoveries_finished on agent_messaging.recoveries (finished_at)
  where finished_at is not null;

-- Rows that left their recovery: a newer recovery or a person took them over, or they were
-- deleted. The settled recovery has their counts.
create table agent_messaging.recovery_leavers (
  seq bigint generated always as identity primary key,
  recovery_seq bigint not null,
  state text not null,
  finished_at bigint
);
create index recovery_leavers_recovery on agent_messaging.recovery_leavers
  (recovery_seq, state, finished_at);

-- The log of changes. An entry names fields, never values.
create table agent_messaging.audit_log (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  actor_kind text not null,
  actor_id text,
  actor_name text,
  action text not null,
  target_id text collate "C" not null,
  target_name text,
  count bigint,
  fields text,
  changes text,
  created_at bigint not null
);
create index audit_log_project on agent_messaging.audit_log (project_id, seq);
create index audit_log_target on agent_messaging.audit_log (target_id, seq);
create index audit_log_created on agent_messaging.audit_log (created_at);

-- Visits of customers, each opened by a link. The digest is that of the link's code.
create table agent_messaging.portal_sessions (
  seq bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project_id text collate "C" not null,
  digest text collate "C" not null unique,
  permissions text not null,
  is_read_only boolean not null,
  title text,
  return_url text,
  created_at bigint not null,
  link_until bigint not null,
  until bigint not null,
  opened_at bigint,
  ended_at bigint
);
create index portal_sessions_project on agent_messaging.portal_sessions (project_id);
create index portal_sessions_until on agent_messaging.portal_sessions (until);

-- The types of events that people define. The project of the installation's types is the nil UUID.
create table agent_messaging.event_types (
  project_id text collate "C" not null,
  name text collate "C" not null,
  facts text not null,
  schema text,
  example text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (project_id, name)
);

-- The header names of attempts repeat, so each list is stored once. Attempts hold the values.
create table agent_messaging.header_names (
  seq bigint generated always as identity primary key,
  digest text collate "C" not null unique,
  names text not null
);

create table agent_messaging.attempts (
  delivery_seq bigint not null,
  attempt_number integer not null,
  started_at bigint not null,
  duration_ms bigint not null,
  url text,
  outcome text not null,
  header_names_seq bigint,
  header_values text,
  -- The webhook of an attempt that was not accepted.
  failed_webhook_seq bigint,
  primary key (delivery_seq, attempt_number)
);
create index attempts_failed on agent_messaging.attempts (failed_webhook_seq, started_at)
  where failed_webhook_seq is not null;
`
