import {
  decideHook,
  isHook,
  insertList,
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
  selectHook,
  updateWebhook,
  type HookRow,
} from './webhook-rows.js'

// Hooks of messages are rows of `webhooks`. A change of a hook locks the session of its message, as
// the end of a run does.

type Id = { readonly messageId: string }
type StoredHook = {
  readonly id: string
  readonly name: string | null
  readonly isDeleted: boolean | number
}

const stored = sql<Id, StoredHook>(
  ({ schema }) => `
    select id, hook_name as name, is_deleted as "isDeleted" from ${schema}webhooks
    where message_id = @messageId`,
)
const present = sql<Id, HookRow>(
  (d) =>
    `${selectHook(d)} where w.message_id = @messageId and ${d.not('w.is_deleted')} order by w.seq`,
)
const note = sql<Id>(
  ({ schema }) =>
    `update ${schema}messages set hook_version = coalesce(hook_version, 0) + 1 where id = @messageId`,
)
const erase = sql<Id & { readonly name: string }>(
  (d) =>
    `${eraseWebhooks(d)} where message_id = @messageId and hook_name = @name and ${d.not('is_deleted')}`,
)

const receiverExists = sql<{ readonly id: string }>(
  ({ schema }) => `select 1 from ${schema}webhooks where id = @id`,
)
const insertReceiver = sql<WebhookColumns>(
  ({ schema }) =>
    `insert into ${schema}webhooks ${insertList(WEBHOOK_COLUMNS)} on conflict (id) do nothing`,
)

function* addReceiver(hook: HookOfMessage): Operation<void> {
  const receiver = sharedReceiver(hook)
  if (!(yield* one(receiverExists, receiver))) yield* run(insertReceiver, webhookColumns(receiver))
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
