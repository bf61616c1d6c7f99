import {
  decideHook,
  isHook,
  insertList,
  receiverIdOf,
  sharedReceiver,
  toWebhook,
  WEBHOOK_COLUMNS,
  webhookColumns,
  type WebhookColumns,
  type HookOfMessage,
  type WebhookStore,
} from '@org/agent-messaging-core/storage'
import { messageByRef } from './message-lists.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { lockSessionsOf } from './sessions.js'
import {
  eraseWebhooks,
  insertWebhook,
  hookList,
  updateWebhook,
  type HookRow,
} from './webhook-rows.js'

// Hooks of messages are rows of `webhooks`. A change of a hook locks the session of its message, as
// the end of a run does.

type Id = { readonly messageId: string }
type StoredHook = {
  readonly id: string
  readonly name: string | null
  readonly receiver: string
  readonly isDeleted: boolean | number
}
type Ref = { readonly id: string }

const stored = sql<Id, StoredHook>(
  ({ schema }) => `
    select id, hook_name as name, receiver, is_deleted as "isDeleted" from ${schema}webhooks
    where message_id = @messageId`,
)
const present = sql<Id, HookRow>(
  ({ schema, not }) => `
    select ${hookList} from ${schema}webhooks w join ${schema}webhooks r on r.id = w.receiver
    where w.message_id = @messageId and ${not('w.is_deleted')} order by w.seq`,
)
const note = sql<Id>(
  ({ schema }) =>
    `update ${schema}messages set hook_version = coalesce(hook_version, 0) + 1 where id = @messageId`,
)
const erase = sql<Id & { readonly name: string }>(
  (d) =>
    `${eraseWebhooks(d)} where message_id = @messageId and hook_name = @name and ${d.not('is_deleted')}`,
)

/** No removal of the receiver can begin before the commit. */
const heldReceiver = sql<Ref>(
  ({ schema, lock }) => `select 1 from ${schema}webhooks where id = @id ${lock('key share')}`,
)
/** The update holds a receiver that another commit has stored since. */
export const STORED_SINCE = 'on conflict (id) do update set updated_at = excluded.updated_at'
const insertReceiver = sql<WebhookColumns>(
  ({ schema }) => `insert into ${schema}webhooks ${insertList(WEBHOOK_COLUMNS)} ${STORED_SINCE}`,
)
/** The commit that holds a receiver adds a hook to it. */
const freeReceiver = sql<Ref>(
  ({ schema, lock }) =>
    `select 1 from ${schema}webhooks where id = @id ${lock('update skip locked')}`,
)
const removeUnused = sql<Ref>(
  ({ schema }) => `
    delete from ${schema}webhooks where id = @id and not exists (
      select 1 from ${schema}webhooks h where h.receiver = @id and h.message_id <> '')`,
)
const moveDeliveries = sql<Ref & { readonly receiver: string }>(
  ({ schema }) => `
    update ${schema}deliveries
    set receiver_seq = (select seq from ${schema}webhooks where id = @receiver)
    where webhook_seq = (select seq from ${schema}webhooks where id = @id)`,
)

function* addReceiver(hook: HookOfMessage): Operation<void> {
  const receiver = sharedReceiver(hook)
  if (!(yield* one(heldReceiver, receiver))) yield* run(insertReceiver, webhookColumns(receiver))
}

/**
 * Deletes the receiver of a hook that was deleted or has moved, if no other hook has it. All
 * deliveries of a hook have its receiver.
 */
export function* removeReceiver(id: string): Operation<number> {
  return (yield* one(freeReceiver, { id })) ? yield* run(removeUnused, { id }) : 0
}

/** Stores a new hook. Its message has the first `hook_version`. */
export function* insertHook(hook: HookOfMessage): Operation<void> {
  yield* addReceiver(hook)
  yield* run(insertWebhook, webhookColumns(hook))
}

export const hookMethods = ({
  read,
  write,
}: Runner): Pick<WebhookStore, 'setHook' | 'hooksOf' | 'deleteHook'> => ({
  setHook: write(function* (hook, agentId, limit) {
    const {
      projectId,
      hook: { messageId },
    } = hook
    yield* lockSessionsOf(messageId)
    if (!(yield* one(messageByRef, { projectId, agentId, messageId }))) return 'message_not_found'
    const known = yield* all(stored, { messageId })
    const hooks = known.map((one) => ({ ...one, isDeleted: Boolean(one.isDeleted) }))
    const decided = decideHook(hooks, hook, limit)
    if (decided !== 'insert' && decided !== 'update') return decided
    yield* addReceiver(hook)
    yield* run(decided === 'insert' ? insertWebhook : updateWebhook, webhookColumns(hook))
    yield* run(note, { messageId })
    const before = known.find(({ id }) => id === hook.id)?.receiver
    const receiver = receiverIdOf(hook)
    if (before !== undefined && before !== receiver) {
      yield* run(moveDeliveries, { id: hook.id, receiver })
      yield* removeReceiver(before)
    }
    return 'set'
  }),
  hooksOf: read(function* (ref) {
    if (!(yield* one(messageByRef, ref))) return []
    return (yield* all(present, ref)).map(toWebhook).filter(isHook)
  }),
  deleteHook: write(function* (ref, name) {
    if (!(yield* one(messageByRef, ref))) return false
    const { messageId } = ref
    yield* lockSessionsOf(messageId)
    yield* run(note, { messageId })
    return (yield* run(erase, { messageId, name })) > 0
  }),
})
