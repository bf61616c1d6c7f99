import type { SettingsOf } from '../values/setting.js'
import { EVENT_NAMES, type SubscribableEvent, type WebhookEvent } from '../webhooks/event.js'
import { secretRule } from '../webhooks/signature.js'
import { untried } from '../webhooks/webhook-health.js'
import { ownSettings, receiverIdOf, type Webhook } from '../webhooks/webhook.js'

/**
 * A receiver of the events of one message. The service sends deliveries for a hook as for a
 * webhook. A hook is deleted with its message, and is not a webhook of the project.
 */
export type HookOfMessage = Webhook & { readonly hook: NonNullable<Webhook['hook']> }
/** A push config of A2A, which gets the events as tasks. */
export type TaskHook = HookOfMessage & { readonly hook: { readonly name: string } }

export const isHook = (webhook: Webhook): webhook is HookOfMessage => webhook.hook !== undefined
export const isTaskHook = (webhook: Pick<Webhook, 'hook'>): webhook is TaskHook =>
  webhook.hook?.name !== undefined

/** A webhook for the events of the message that a send makes. */
export type SendWebhook = {
  /** `https:` to a public address, unless the host allows more by `addresses`. */
  readonly url: string
  /** The secret of the signature. No answer shows it. */
  readonly secret: string
  /** Events of the message. Default: those that change its state. */
  readonly events?: readonly string[] | undefined
}

/** The events that are about a message. `agent.error` is one if a message caused it. */
const MESSAGE_EVENTS: readonly string[] = EVENT_NAMES.filter(
  (name) => name.startsWith('message.') || name === 'agent.error',
)

export const sendWebhookSettings = {
  url: ownSettings.url,
  secret: {
    type: 'string',
    rule: secretRule,
    required: true,
    description: 'Signs the deliveries. No answer shows it.',
  },
  events: {
    type: 'array',
    items: { type: 'string', enum: MESSAGE_EVENTS },
    minItems: 1,
    maxItems: MESSAGE_EVENTS.length,
    description:
      'The events of the message that the webhook gets. Without it: `message.responded`, ' +
      '`message.failed`, `message.cancelled`, `message.input_required` and `message.input_received`.',
  },
} as const satisfies SettingsOf<SendWebhook>

/** The events that change the state of a message or of an A2A task. */
export const HOOK_EVENTS: readonly SubscribableEvent[] = [
  'message.responded',
  'message.failed',
  'message.cancelled',
  'message.input_required',
  'message.input_received',
]

/** The hooks that one message can have. */
export const MAX_HOOKS = 10

/** Returns true if the hook, which belongs to the event's message, gets the event. */
export const hookGets = ({ events }: Pick<Webhook, 'events'>, { name }: WebhookEvent): boolean =>
  events.some((one) => one === name)

/**
 * Returns the receiver that hooks with this hook's project and origin share. A store keeps it as a
 * webhook of no message. Its health is that of each of its hooks, and their deliveries wait for it.
 */
export function sharedReceiver({ headers: _, ...hook }: HookOfMessage): HookOfMessage {
  const secret = '' as Webhook['secret']
  const id = receiverIdOf(hook)
  return { ...hook, id, url: '', events: [], secret, health: untried, hook: { messageId: '' } }
}

type StoredHook = {
  readonly id: string
  readonly name?: string | null | undefined
  readonly isDeleted: boolean
}
type Refused = 'name_taken' | 'limit_reached'

/** Decides the effect of setting a hook, from all hooks of its message, also deleted hooks. */
export function decideHook(
  hooks: readonly StoredHook[],
  { id, hook: { name } }: HookOfMessage,
  limit: number,
): 'insert' | 'update' | Refused {
  const same = hooks.find((one) => one.id === id)
  if (same) return same.isDeleted ? 'name_taken' : 'update'
  const present = hooks.filter(({ isDeleted }) => !isDeleted)
  if (present.some((one) => one.name === name)) return 'name_taken'
  return present.length >= limit ? 'limit_reached' : 'insert'
}
