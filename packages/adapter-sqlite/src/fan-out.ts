import type { Database } from 'better-sqlite3'
import type { ClaimedDelivery, EventName, Instant, Outgoing, Webhook, WebhookEvent } from '@org/agent-messaging-core'
import { probeReadiness } from './probe-readiness.js'
import { traceColumn } from './trace.js'
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

type EventColumns = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'createdAt'> & { readonly trace: string | null }

/** The only place that inserts deliveries. */
export function fanOutOf(db: Database): FanOut {
  const insert = insertsOf(db)
  const subscribed = db.prepare<[string, EventName, string | null], WebhookRow>(
    `${selectWebhook} join subscriptions s on s.webhook_seq = w.seq
     where s.project_id = ? and s.event in ('*', ?) and (w.agent_id is null or w.agent_id = ?)`,
  )

  return ({ event, nextDeliveryId, notTo, claim }) => {
    const { projectId, createdAt } = event
    const receivers = subscribed.all(projectId, event.name, event.agentId ?? null).filter(({ id }) => id !== notTo)
    // An event that nobody is to hear of is kept nowhere.
    if (receivers.length === 0) return []
    const eventSeq = insert.event(event)
    return receivers.flatMap((receiver) => {
      const webhook = toWebhook(receiver)
      const until = claimUntil(webhook, claim)
      const id = nextDeliveryId()
      const born = until === undefined ? due(createdAt) : claimed(until)
      insert.delivery({ id, projectId, webhookSeq: receiver.seq, eventSeq, createdAt, ...born })
      return until === undefined ? [] : [claimedDelivery(id, event, webhook, until)]
    })
  }
}

/** `DeliveryStore.publishTo`, within a transaction: gives whether the webhook is there. */
export function publisherOf(db: Database): (webhookId: string, event: WebhookEvent, deliveryId: string) => boolean {
  const insert = insertsOf(db)
  const ready = probeReadiness(db)
  const webhookSeqOf = db
    .prepare<[string, string], number>('select seq from webhooks where id = ? and project_id = ? and is_deleted = 0')
    .pluck()
  return (webhookId, event, deliveryId) => {
    const { projectId, createdAt } = event
    const webhookSeq = webhookSeqOf.get(webhookId, projectId)
    if (webhookSeq === undefined) return false
    ready(webhookId, createdAt)
    insert.delivery({ id: deliveryId, projectId, webhookSeq, eventSeq: insert.event(event), createdAt, ...due(createdAt) })
    return true
  }
}

function insertsOf(db: Database) {
  const insertEvent = db.prepare<[EventColumns]>(
    'insert into events (id, name, body, trace, created_at) values (@id, @name, @body, @trace, @createdAt)',
  )
  const insertDelivery = db.prepare<[InsertedColumns]>(`
    insert into deliveries (id, project_id, webhook_seq, event_seq, state, step, attempt_count, due_at, lease, created_at)
    values (@id, @projectId, @webhookSeq, @eventSeq, @state, 0, 0, @dueAt, @lease, @createdAt)`)
  return {
    /** Gives its `seq`. */
    event: ({ id, name, body, trace, createdAt }: WebhookEvent) =>
      insertEvent.run({ id, name, body, trace: traceColumn(trace), createdAt }).lastInsertRowid,
    delivery: (columns: InsertedColumns) => void insertDelivery.run(columns),
  }
}

const due = (dueAt: Instant) => ({ state: 'pending', dueAt, lease: 0 }) as const
const claimed = (dueAt: Instant) => ({ state: 'sending', dueAt, lease: 1 }) as const

function claimUntil({ id, projectId, status, health }: Webhook, claim: Outgoing['claim']): Instant | undefined {
  const isReady = status.kind === 'enabled' && health.circuit.kind === 'closed'
  return claim && isReady && !claim.except.has(id) && !claim.except.has(projectId) ? claim.until : undefined
}

function claimedDelivery(id: string, event: WebhookEvent, webhook: Webhook, until: Instant): ClaimedDelivery {
  const state = { kind: 'sending', leaseUntil: until, step: 0 } as const
  const { projectId, createdAt } = event
  const delivery = { id, projectId, webhookId: webhook.id, eventId: event.id, event: event.name, attemptCount: 0, state, createdAt }
  return { delivery, lease: { token: 1, until }, webhook, body: event.body, ...(event.trace && { trace: event.trace }) }
}
