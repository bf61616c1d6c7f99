import type { SubscribableEvent, WebhookEvent } from '../webhooks/event.js'
import type { Webhook } from '../webhooks/webhook.js'

/**
 * A receiver of the events of one message, in A2A's form. The service sends deliveries for a hook
 * as for a webhook. A hook is deleted with its message, and is not a webhook of the project.
 */
export type HookOfMessage = Webhook & { readonly hook: NonNullable<Webhook['hook']> }

export const isHook = (webhook: Webhook): webhook is HookOfMessage => webhook.hook !== undefined

/** The events that change the state of an A2A task. */
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

type StoredHook = { readonly id: string; readonly name: string; readonly isDeleted: boolean }
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
