import {
  decideRedelivery,
  type Instant,
  type PageOf,
  type RedeliverFilter,
  type Redelivered,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { deliveryList } from './delivery-list.js'
import { probeReadiness, probeRelease } from './probe-readiness.js'
import type { WebhookRows } from './webhook-rows.js'

type Columns = {
  readonly id: string
  readonly step: number
  readonly dueAt: Instant
  readonly resumeAt: Instant | null
}
type Cancellation = {
  readonly projectId: string
  readonly deliveryId: string
  readonly now: Instant
}
type Redelivery = {
  redeliver(filter: RedeliverFilter, page: PageOf, now: Instant): Redelivered
  /** Returns false if the delivery was not open. */
  cancel(projectId: string, deliveryId: string, now: Instant): boolean
}

const ONE = 'id = @deliveryId and project_id = @projectId'

/** Changes that operators make to deliveries. Call them in a transaction. */
export function redelivery(db: Database, webhooks: WebhookRows): Redelivery {
  const list = deliveryList(db)
  const ready = probeReadiness(db, webhooks)
  const makeDue = db.prepare<[Columns]>(`
    update deliveries set state = 'pending', is_claimed = 0, step = @step, due_at = @dueAt, resume_at = @resumeAt, finished_at = null, cancelled_reason = null
    where id = @id`)
  const releaseProbe = probeRelease(db, webhooks, ONE)
  const cancel = db.prepare<[Cancellation]>(`
    update deliveries set state = 'cancelled', is_claimed = 0, due_at = null, finished_at = @now, cancelled_reason = 'operator'
    where ${ONE} and due_at is not null`)

  return {
    redeliver: (filter, page, now) => {
      const { data, nextCursor } = list({ ...filter, ofExistingWebhook: true }, page)
      for (const webhookId of new Set(data.map((delivery) => delivery.webhookId)))
        ready(webhookId, now)
      const changed = data.filter(({ id, state }) => {
        const next = decideRedelivery(state, now)
        if (next)
          makeDue.run({
            id,
            step: next.step,
            dueAt: next.nextAttemptAt,
            resumeAt: next.resumeAt ?? null,
          })
        return next !== undefined
      })
      return { count: changed.length, nextCursor }
    },
    cancel: (projectId, deliveryId, now) => {
      releaseProbe({ projectId, deliveryId, now })
      return cancel.run({ projectId, deliveryId, now }).changes === 1
    },
  }
}
