import {
  endUserMark,
  isForEndUser,
  type ErasedDeliveries,
  type ErasedMessages,
  type MessageErasure,
  type PrincipalStep,
} from '@org/agent-messaging-core/storage'
import { advanceOrders, claimList, openList, releaseSending } from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import { dialect, type Perform } from '../database/operations.js'
import { deliveryRemoval } from './purge.js'
import type { SessionRows } from '../messages/sessions.js'
import type { WebhookRows } from '../webhooks/receivers.js'

/** A step looks at the rows after `after`, up to `last`. */
type Bounds = { readonly last: number; readonly mark: string }

type MessageRow = {
  readonly seq: number
  readonly sessionSeq: number
  readonly position: number
  readonly headPosition: number
  readonly isOpen: 0 | 1
}
type DeliveryRow = {
  readonly seq: number
  readonly eventSeq: number
  readonly orderKey: string | null
  readonly webhookSeq: number
  readonly dueAt: number
  readonly isSending: 0 | 1
  readonly body: string
}

/** `MessageStore.erasePrincipal`, in a transaction. Ignores messages that wait for the sweep. */
export function principalMessages(
  db: Database,
  sessions: SessionRows,
): (step: MessageErasure) => ErasedMessages {
  const lastOf = db
    .prepare<[MessageErasure], number>(
      'select seq from messages where agent_id = @agentId and seq > @after order by seq limit 1 offset @limit - 1',
    )
    .pluck()
  const marked = db.prepare<[MessageErasure & Bounds], MessageRow>(`
    select m.seq, m.session_seq as sessionSeq, m.position, s.head_position as headPosition, m.finished_at is null as isOpen
    from messages m join sessions s on s.seq = m.session_seq join agents a on a.id = s.agent_id
    where m.agent_id = @agentId and m.seq > @after and m.seq <= @last and +a.project_id = @projectId and instr(m.principal, @mark) > 0`)
  const remove = db.prepare<[number]>('delete from messages where seq = ?')

  function erase(
    { seq, sessionSeq, position, headPosition, isOpen }: MessageRow,
    now: number,
  ): void {
    remove.run(seq)
    if (isOpen && position === headPosition) sessions.advance(sessionSeq, now)
    else if (isOpen) sessions.skip(sessionSeq)
  }

  return (step) => {
    const next = lastOf.get(step)
    const rows = marked.all({
      ...step,
      mark: endUserMark(step.endUserId),
      last: next ?? Number.MAX_SAFE_INTEGER,
    })
    const erased = step.force ? rows : rows.filter(({ isOpen }) => !isOpen)
    if (!step.countOnly) {
      // From the last message to the head, so that no message becomes head that is erased next.
      for (const row of erased.toSorted((a, b) => b.position - a.position)) erase(row, step.now)
      for (const sessionSeq of new Set(erased.map((row) => row.sessionSeq)))
        sessions.cleanUp(sessionSeq)
    }
    return {
      messages: erased.length,
      openMessages: rows.length - erased.length,
      ...(next !== undefined && { next }),
    }
  }
}

/** `DeliveryStore.erasePrincipal`, in a transaction. */
export function principalDeliveries(
  db: Database,
  webhooks: WebhookRows,
  perform: Perform,
): (step: PrincipalStep) => ErasedDeliveries {
  const lastOf = db
    .prepare<[PrincipalStep], number>(
      'select seq from deliveries where project_id = @projectId and seq > @after order by seq limit 1 offset @limit - 1',
    )
    .pluck()
  const marked = db.prepare<[PrincipalStep & Bounds], DeliveryRow>(`
    select ${openList}, ${claimList(dialect)}, d.event_seq as eventSeq, e.body from deliveries d join events e on e.seq = d.event_seq
    where d.project_id = @projectId and d.seq > @after and d.seq <= @last and instr(e.body, @mark) > 0`)
  const remove = deliveryRemoval(db)

  return (step) => {
    const next = lastOf.get(step)
    const rows = marked.all({
      ...step,
      mark: endUserMark(step.endUserId),
      last: next ?? Number.MAX_SAFE_INTEGER,
    })
    const erased = rows.filter(({ body }) => isForEndUser(body, step.endUserId))
    if (!step.countOnly) {
      webhooks.changed()
      perform(releaseSending, erased, step.now)
      remove(erased, Number.MAX_SAFE_INTEGER)
      perform(advanceOrders, erased, step.now)
    }
    return { deliveries: erased.length, ...(next !== undefined && { next }) }
  }
}
