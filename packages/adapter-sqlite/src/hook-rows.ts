import {
  decideHook,
  insertList,
  isHook,
  toWebhook,
  WEBHOOK_COLUMNS,
  webhookColumns,
  type HookOfMessage,
  type HookSet,
  type MessageRef,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { messageByRef } from './message-row.js'
import { deliveryRemoval } from './purge.js'
import { atMost } from './statements.js'
import { OF_MESSAGE, selectWebhook, updateWebhookSql } from './webhook-rows.js'

type StoredHook = { readonly id: string; readonly name: string; readonly isDeleted: 0 | 1 }
type Delivery = { readonly seq: number; readonly eventSeq: number }

/** The hooks of messages, which are rows of `webhooks`. Call the methods in a transaction. */
export class HookRows {
  readonly #sql: ReturnType<typeof prepare>
  readonly #removeDeliveries: ReturnType<typeof deliveryRemoval>

  constructor(db: Database) {
    this.#sql = prepare(db)
    this.#removeDeliveries = deliveryRemoval(db)
  }

  /** `WebhookStore.setHook`. */
  set(hook: HookOfMessage, agentId: string, limit: number): HookSet {
    const { messageId } = hook.hook
    if (!this.#sql.message.get({ projectId: hook.projectId, agentId, messageId }))
      return 'message_not_found'
    const hooks = this.#sql.stored
      .all(messageId)
      .map((row) => ({ ...row, isDeleted: row.isDeleted === 1 }))
    const decided = decideHook(hooks, hook, limit)
    if (decided === 'insert') this.insert(hook)
    else if (decided === 'update') this.#sql.update.run(webhookColumns(hook))
    else return decided
    return 'set'
  }

  /** Stores a new hook, and notes on its message that it has hooks. */
  insert(hook: HookOfMessage): void {
    this.#sql.insert.run(webhookColumns(hook))
    this.#sql.note.run(hook.hook.messageId)
  }

  /** `WebhookStore.hooksOf`. */
  list(ref: MessageRef): HookOfMessage[] {
    if (!this.#sql.message.get(ref)) return []
    return this.#sql.present.all(ref.messageId).map(toWebhook).filter(isHook)
  }

  /** `WebhookStore.deleteHook`. */
  delete(ref: MessageRef, name: string): boolean {
    return (
      this.#sql.message.get(ref) !== undefined &&
      this.#sql.erase.run(ref.messageId, name).changes > 0
    )
  }

  /** Deletes up to `limit` rows of deleted hooks and their deliveries. Returns their number. */
  sweep(limit: number): number {
    let removed = 0
    for (let seq = this.#sql.deleted.get(); seq !== undefined; seq = this.#sql.deleted.get()) {
      const deliveries = this.#sql.deliveries.all(seq, limit - removed)
      // The log keeps the events.
      this.#removeDeliveries(deliveries, 0)
      removed += deliveries.length
      if (removed >= limit) break
      removed += this.#sql.remove.run(seq).changes
    }
    return removed
  }
}

const prepare = (db: Database) => ({
  message: messageByRef(db),
  stored: db.prepare<[string], StoredHook>(
    'select id, hook_name as name, is_deleted as isDeleted from webhooks where message_id = ?',
  ),
  present: db.prepare<[string], WebhookRow>(`${selectWebhook} where ${OF_MESSAGE} order by w.seq`),
  insert: db.prepare<[WebhookColumns]>(`insert into webhooks ${insertList(WEBHOOK_COLUMNS)}`),
  update: db.prepare<[WebhookColumns]>(updateWebhookSql),
  note: db.prepare<[string]>('update messages set hooks = coalesce(hooks, 0) + 1 where id = ?'),
  erase: db.prepare<[string, string]>(`
    update webhooks set url = '', secret = '', header_names = null, headers = null, is_deleted = 1
    where message_id = ? and hook_name = ? and is_deleted = 0`),
  deleted: db
    .prepare<[], number>(
      'select seq from webhooks where is_deleted = 1 and message_id is not null limit 1',
    )
    .pluck(),
  deliveries: db.prepare<[number, number], Delivery>(
    `select seq, event_seq as eventSeq from deliveries where webhook_seq = ? ${atMost('?')}`,
  ),
  remove: db.prepare<[number]>('delete from webhooks where seq = ?'),
})
