/**
 * `seq` gives rows their order and the pages their place; ids are UUIDv7 and known outside. Sessions, webhooks, events and
 * deliveries are referred to by `seq`, which keeps the tables that grow narrow. Instants are ms since 1970, JSON is text.
 *
 * Indexes on `due_at` and on what is not yet answered or delivered hold open rows only: a claim and a look at what hangs
 * cost the same over an empty file as over millions of finished rows.
 */
export const initial = `
create table settings (name text primary key, value text not null) strict, without rowid;

create table projects (
  seq integer primary key,
  id text not null unique,
  name text not null,
  created_at integer not null
) strict;

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
  retry_at integer,
  concurrency integer not null,
  max_attempts integer not null,
  max_queued integer not null,
  created_at integer not null,
  updated_at integer not null,
  unique (project_id, name)
) strict;
create index agents_project on agents (project_id);

-- The queue and the lock of its messages. Idle: due_at is null and head_position = last_position + 1.
create table sessions (
  seq integer primary key,
  agent_id text not null,
  session_id text not null,
  last_position integer not null,
  head_position integer not null,
  due_at integer,
  lease integer not null,
  unique (agent_id, session_id)
) strict;
create index sessions_due on sessions (agent_id, due_at) where due_at is not null;

create table messages (
  seq integer primary key,
  id text not null unique,
  agent_id text not null,
  session_seq integer not null references sessions,
  position integer not null,
  idempotency_key text,
  fingerprint text,
  message text not null,
  metadata text,
  principal text not null,
  attempt integer not null,
  state text not null,
  not_before integer,
  started_at integer,
  deadline_at integer,
  finished_at integer,
  response_time_ms integer,
  response text,
  error text,
  created_at integer not null,
  unique (session_seq, position)
) strict;
create unique index messages_key on messages (agent_id, idempotency_key) where idempotency_key is not null;
create index messages_agent on messages (agent_id);
create index messages_unanswered on messages (agent_id) where state <> 'responded';

-- A deleted webhook keeps its row, without its secret: its deliveries still name it.
create table webhooks (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  url text not null,
  events text not null,
  agent_id text,
  description text,
  secret text not null,
  previous_secret text,
  previous_until integer,
  disabled_at integer,
  created_at integer not null,
  updated_at integer not null,
  is_deleted integer not null
) strict;
create index webhooks_project on webhooks (project_id) where is_deleted = 0;
create index webhooks_deleted on webhooks (id) where is_deleted = 1;

create table subscriptions (
  project_id text not null,
  event text not null,
  webhook_seq integer not null references webhooks,
  primary key (project_id, event, webhook_seq)
) strict, without rowid;

create table events (
  seq integer primary key,
  id text not null,
  name text not null,
  body text not null,
  created_at integer not null
) strict;

-- Final: due_at is null. Claimed: state is 'sending', and due_at is the end of the lease.
create table deliveries (
  seq integer primary key,
  id text not null unique,
  project_id text not null,
  webhook_seq integer not null references webhooks,
  event_seq integer not null references events,
  state text not null,
  step integer not null,
  attempt_count integer not null,
  due_at integer,
  resume_at integer,
  lease integer not null,
  finished_at integer,
  cancelled_reason text,
  created_at integer not null
) strict;
create index deliveries_due on deliveries (webhook_seq, due_at) where due_at is not null;
create index deliveries_project on deliveries (project_id);
create index deliveries_webhook on deliveries (webhook_seq);
create index deliveries_undelivered on deliveries (project_id) where state <> 'delivered';

create table attempts (
  delivery_seq integer not null references deliveries,
  attempt_number integer not null,
  started_at integer not null,
  duration_ms integer not null,
  outcome text not null,
  primary key (delivery_seq, attempt_number)
) strict, without rowid;
`
