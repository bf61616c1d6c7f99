import {
  acceptedFact,
  attemptedFact,
  endedFacts,
  publishedFact,
  ranFact,
  settledFact,
} from './facts.js'
import type { Fact } from './history.js'

// The log: the tables of messages, runs, events, deliveries and attempts. No table of counts.

/** Runs a query on the tables of a server. */
export type Query = <Row>(sql: string) => Promise<readonly Row[]>

type Tokens = { readonly inputTokens?: number; readonly outputTokens?: number }
/** Columns of JSON are texts, and columns of times are milliseconds. */
type MessageRow = {
  readonly agentId: string
  readonly at: number
  readonly message: string
  readonly metadata: string | null
  readonly state: string
  readonly finishedAt: number
  readonly response: string
  readonly responseTimeMs: number
  readonly usage: string | null
}
type RunRow = Pick<MessageRow, 'agentId' | 'at' | 'usage'>
type EventRow = { readonly name: string; readonly at: number; readonly body: string }
type AttemptRow = {
  readonly webhookId: string
  readonly startedAt: number
  readonly durationMs: number
  readonly outcome: string
  readonly body: string
  /** Null unless this is the last attempt of a delivery that ended. */
  readonly finishedAt: number | null
  readonly state: string
  readonly event: string
}

const MESSAGES = `
  select agent_id as "agentId", created_at as at, message, metadata, state,
    finished_at as "finishedAt", response, response_time_ms as "responseTimeMs", usage
  from messages`
/** A run that was lost or cancelled has neither an error nor a question. */
const RUNS = `
  select m.agent_id as "agentId", r.ended_at as at, r.usage
  from past_runs r join messages m on m.id = r.message_id
  where r.error is not null or r.reason = 'input_required'`
const EVENTS = `
  select name, created_at as at, body from events
  where name in ('message.failed', 'message.cancelled', 'delivery.exhausted')`
/** All names of the service begin with one of these words. */
const PUBLISHED = `
  select name, created_at as at, body from events
  where name not like 'message.%' and name not like 'agent.%' and name not like 'webhook.%'
    and name not like 'delivery.%'`
const ATTEMPTS = `
  select w.id as "webhookId", a.started_at as "startedAt", a.duration_ms as "durationMs", a.outcome,
    coalesce(d.body, e.body) as body, e.name as event, d.state,
    case when a.attempt_number = d.attempt_count then d.finished_at end as "finishedAt"
  from attempts a join deliveries d on d.seq = a.delivery_seq
    join webhooks w on w.seq = d.webhook_seq join events e on e.seq = d.event_seq`

const tokensOf = (usage: string | null): Tokens =>
  usage === null ? {} : (JSON.parse(usage) as Tokens)

/**
 * Returns the facts in the tables of all projects. A message that was retried is one fact for each
 * end, and a delivery that was redelivered too.
 */
export async function factsOfTables(query: Query): Promise<Fact[]> {
  const messages = await query<MessageRow>(MESSAGES)
  const answered = messages.filter(({ state }) => state === 'responded')
  return [
    ...messages.map(acceptedFact),
    ...answered.flatMap(({ state: kind, finishedAt: at, ...message }) =>
      endedFacts({ ...message, kind, at }),
    ),
    ...answered.map(({ agentId, finishedAt, usage }) =>
      ranFact(agentId, finishedAt, tokensOf(usage)),
    ),
    ...(await query<RunRow>(RUNS)).map(({ agentId, at, usage }) =>
      ranFact(agentId, at, tokensOf(usage)),
    ),
    ...(await query<EventRow>(EVENTS)).flatMap(endOfEvent),
    ...(await query<EventRow>(PUBLISHED)).map(publishedFact),
    ...(await query<AttemptRow>(ATTEMPTS)).flatMap(factsOfAttempt),
  ]
}

type Data = { readonly agentId: string; readonly webhookId: string }

function endOfEvent({ name, at, body }: EventRow): Fact[] {
  const { agentId, webhookId } = (JSON.parse(body) as { readonly data: Data }).data
  return name === 'delivery.exhausted'
    ? [settledFact(webhookId, at, 'exhausted')]
    : endedFacts({ agentId, at, kind: name.slice('message.'.length) })
}

/** An event that reports a failure is not reported when its own delivery is exhausted. */
const UNREPORTED = new Set([
  'delivery.exhausted',
  'webhook.disabled',
  'webhook.failing',
  'webhook.recovered',
])

function factsOfAttempt({ outcome, ...row }: AttemptRow): Fact[] {
  const { webhookId, startedAt, durationMs, finishedAt, state, event } = row
  const result = JSON.parse(outcome) as Parameters<typeof attemptedFact>[0]['outcome']
  const attempted = attemptedFact({ ...row, outcome: result })
  if (result.kind === 'accepted')
    return [attempted, settledFact(webhookId, finishedAt ?? startedAt + durationMs, 'delivered')]
  return finishedAt !== null && state === 'exhausted' && UNREPORTED.has(event)
    ? [attempted, settledFact(webhookId, finishedAt, 'exhausted')]
    : [attempted]
}
