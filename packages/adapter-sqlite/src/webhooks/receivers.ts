import type { Webhook } from '@org/agent-messaging-core'
import { subscriptionsFor, toWebhook, type WebhookRow } from '@org/agent-messaging-core/storage'
import { selectWebhook, type HookRow } from '@org/agent-messaging-sql-kit'
import type { Database, Statement } from 'better-sqlite3'
import { dialect } from '../database/operations.js'
import { VersionedCache } from '../database/versioned-cache.js'

/** `receiverSeq`: the receiver of a hook. */
export type StoredWebhook = {
  readonly seq: number
  readonly webhook: Webhook
  readonly receiverSeq?: number
}

/**
 * Caches webhooks for events and claims. A webhook is read and parsed again only after a change.
 */
export class WebhookRows {
  readonly #webhooks: VersionedCache<number, Webhook>
  readonly #receivers: VersionedCache<string, readonly StoredWebhook[]>
  readonly #one: Statement<[number], WebhookRow>
  readonly #subscribed: Statement<[string, string], number>
  readonly #hooks: Statement<[string], Pick<HookRow, 'seq' | 'receiverSeq'>>
  readonly #hook: Statement<[number], WebhookRow>

  constructor(db: Database) {
    this.#webhooks = new VersionedCache(db)
    this.#receivers = new VersionedCache(db)
    const select = selectWebhook(dialect)
    this.#one = db.prepare(`${select} where w.seq = ?`)
    // A join that reads all columns takes ten times as long.
    this.#hooks = db.prepare(`
      select seq, (select r.seq from webhooks r where r.id = w.receiver) as receiverSeq
      from webhooks w where message_id = ? order by seq`)
    this.#hook = db.prepare(`${select} where w.seq = ? and w.is_deleted = 0`)
    this.#subscribed = db
      .prepare<[string, string], number>(
        'select webhook_seq from subscriptions where project_id = ? and event in (select value from json_each(?))',
      )
      .pluck()
  }

  /** Returns the webhook of an existing row, deleted or not. */
  bySeq(seq: number): Webhook {
    return this.#webhooks.get(seq, () => toWebhook(this.#one.get(seq) as WebhookRow))
  }

  /** Returns the webhooks that subscribe to the event, with any filter. */
  subscribed(projectId: string, event: string): readonly StoredWebhook[] {
    return this.#receivers.get(`${projectId} ${event}`, () =>
      this.#subscribed
        .all(projectId, JSON.stringify(subscriptionsFor(event)))
        .map((seq) => ({ seq, webhook: this.bySeq(seq) })),
    )
  }

  /** Returns the hooks of a message, oldest first. The cache does not keep them. */
  hooksOf(messageId: string): readonly StoredWebhook[] {
    return this.#hooks.all(messageId).flatMap(({ seq, receiverSeq }) => {
      const webhook = this.hookBySeq(seq, receiverSeq)
      return webhook ? [{ seq, receiverSeq, webhook }] : []
    })
  }

  /** Returns the hook with the health of its receiver, or undefined if it was deleted. */
  hookBySeq(seq: number, receiverSeq: number): Webhook | undefined {
    const row = this.#hook.get(seq)
    return row && { ...toWebhook(row), health: this.bySeq(receiverSeq).health }
  }

  /** Call it in each transaction of this connection that writes webhooks or subscriptions. */
  changed(): void {
    this.#webhooks.clear()
    this.#receivers.clear()
  }
}
