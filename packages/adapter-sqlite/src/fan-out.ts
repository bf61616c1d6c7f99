import type { Database } from 'better-sqlite3'
import type { ClaimedDelivery, EventName, Instant, Outgoing, Webhook, WebhookEvent } from '@org/agent-messaging-core'
import { selectWebhook, toWebhook, type WebhookRow } from './webhook-row.js'

/** Makes an event and its deliveries within the transaction of the fact that it reports; gives those that are born claimed. */
export type FanOut = (outgoing: Outgoing) => ClaimedDelivery[]

type InsertedColumns = {
  readonly id: string
  readonly projectId: string
  readonly webhookSeq: number
  readonly eventSeq: number | bigint
  readonly state: 'pending' | 'sending'
  readonly dueAt: number
  readonly lease: 0 | 1
  readonly createdAt: number
}

/** The only place that inserts deliveries. */
export function fanOutOf(db: Database): FanOut {
  const subscribed = db.prepare<[string, EventName, string], WebhookRow>(
    `${selectWebhook} join subscriptions s on s.webhook_seq = w.seq
     where s.project_id = ? and s.event in ('*', ?) and (w.agent_id is null or w.agent_id = ?)`,
  )
  const insertEvent = db.prepare<[WebhookEvent]>('insert into events (id, name, body, created_at) values (@id, @name, @body, @createdAt)')
  const insertDelivery = db.prepare<[InsertedColumns]>(`
    insert into deliveries (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
    values (@id, @projectId, @webhookSeq, @eventSeq, @state, 0, 0, @dueAt, @lease, @createdAt)`)

  return ({ event, nextDeliveryId, claim }) => {
    const { projectId, createdAt } = event
    const receivers = subscribed.all(projectId, event.name, event.agentId)
    // An event that nobody is to hear of is kept nowhere.
    if (receivers.length === 0) return []
    const { lastInsertRowid: eventSeq } = insertEvent.run(event)
    return receivers.flatMap((receiver) => {
      const webhook = toWebhook(receiver)
      const until = claimUntil(webhook, claim)
      const id = nextDeliveryId()
      const born = until === undefined ? due(createdAt) : claimed(until)
      insertDelivery.run({ id, projectId, webhookSeq: receiver.seq, eventSeq, createdAt, ...born })
      return until === undefined ? [] : [claimedDelivery(id, event, webhook, until)]
    })
  }
}

const due = (dueAt: Instant) => ({ state: 'pending', dueAt, lease: 0 }) as const
const claimed = (dueAt: Instant) => ({ state: 'sending', dueAt, lease: 1 }) as const

const claimUntil = ({ id, status }: Webhook, claim: Outgoing['claim']): Instant | undefined =>
  claim && status.kind === 'enabled' && !claim.except.has(id) ? claim.until : undefined

function claimedDelivery(id: string, event: WebhookEvent, webhook: Webhook, until: Instant): ClaimedDelivery {
  const state = { kind: 'sending', leaseUntil: until, step: 0 } as const
  const { projectId, createdAt } = event
  const delivery = { id, projectId, webhookId: webhook.id, eventId: event.id, event: event.name, attemptCount: 0, state, createdAt }
  return { delivery, lease: { token: 1, until }, webhook, body: event.body }
}
