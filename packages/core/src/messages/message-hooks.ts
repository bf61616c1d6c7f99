import { err, ok, safeTry, type Result } from 'neverthrow'
import type { CustomHeaders } from '../domain/webhooks/custom-headers.js'
import { broken, invalid, textRule, type Invalid } from '../domain/values/input-rules.js'
import type { Message } from '../domain/messages/message.js'
import {
  HOOK_EVENTS,
  isTaskHook,
  MAX_HOOKS,
  sendWebhookSettings,
  type HookOfMessage,
  type SendWebhook,
  type TaskHook,
} from '../domain/messages/message-hook.js'
import { newRulesOf } from '../domain/values/setting.js'
import { unknownFields } from '../domain/values/nearest-name.js'
import { newSecret, secretRule } from '../domain/webhooks/signature.js'
import { newWebhook, webhookSecretContext } from '../domain/webhooks/webhook.js'
import { fail } from '../domain/values/fail.js'
import type { Unavailable } from '../ports/stored.js'
import type { Platform, Reading } from '../platform.js'
import { checkWebhook, sealedHeaders, type WebhookChecks } from '../webhooks/check-webhook.js'
import type { Needs } from './context.js'
import { getMessage, type GetMessageInput, type MessageReads } from './read-messages.js'
import { chain } from '../pacing/chain.js'

export type HookInput = {
  readonly url: string
  /** The name of the hook within its message. Default: the id of the message. */
  readonly name?: string | undefined
  /** Additional headers of each request. The values are secret: only the names are shown. */
  readonly headers?: CustomHeaders | undefined
  /** The secret of the signature, in the form of a webhook's. Created if absent. */
  readonly secret?: string | undefined
}

type MessageInput = Pick<GetMessageInput, 'projectId' | 'agent' | 'messageId'>
export type SetHookInput = MessageInput & HookInput
type Ref = { readonly projectId: string; readonly messageId: string }

const MAX_NAME = 256

/** Checks a hook by the rules of webhooks. */
export async function checkHook(
  d: WebhookChecks,
  projectId: string,
  { url, name, headers, secret }: HookInput,
): Promise<Result<void, Invalid | Unavailable>> {
  const problem = broken({
    url: textRule(url, Infinity),
    name: name === undefined ? undefined : textRule(name, MAX_NAME),
    secret: secretRule(secret),
  })
  if (problem) return problem
  return checkWebhook(d, projectId, { url, headers })
}

type HookMaking = Pick<Platform, 'clock' | 'crypto' | 'ids'>

/** Creates a hook, or the new form of a hook with this id. */
export function newHook(
  d: HookMaking,
  { projectId, messageId }: Ref,
  { url, name = messageId, headers, secret = newSecret(d.crypto.randomBytes) }: HookInput,
  id = d.ids.next(),
): TaskHook {
  const sealed = d.crypto.seal(secret, webhookSecretContext(id))
  const given = { id, projectId, url, events: HOOK_EVENTS, secret: sealed }
  const sealedOnes = sealedHeaders(d, id, headers)
  return {
    ...newWebhook(given, d.clock.now()),
    ...(sealedOnes && { headers: sealedOnes }),
    // An earlier state of the task must not follow a later state.
    ordering: 'session',
    hook: { messageId, name },
  }
}

/** Checks the webhook of a send by the rules of webhooks. */
export async function checkSendWebhook(
  d: WebhookChecks,
  projectId: string,
  webhook: SendWebhook,
): Promise<Result<void, Invalid | Unavailable>> {
  const known = Object.keys(sendWebhookSettings)
  const unknown = Object.keys(webhook).filter((name) => !known.includes(name))
  const problem = broken({
    webhook: unknown.length > 0 ? unknownFields(unknown, known) : undefined,
    ...newRulesOf(sendWebhookSettings, webhook, 'webhook.'),
  })
  if (problem) return problem
  const checked = await checkWebhook(d, projectId, { url: webhook.url })
  return checked.mapErr((error) =>
    error.kind === 'invalid'
      ? { ...error, issues: error.issues.map((one) => ({ ...one, path: `webhook.${one.path}` })) }
      : error,
  )
}

/** Creates the webhook of a send. Like a webhook of the project, it keeps no order. */
export function newSendWebhook(
  d: HookMaking,
  { projectId, messageId }: Ref,
  { url, secret, events = HOOK_EVENTS }: SendWebhook,
): HookOfMessage {
  const id = d.ids.next()
  const sealed = d.crypto.seal(secret, webhookSecretContext(id))
  const given = { id, projectId, url, events, secret: sealed }
  return { ...newWebhook(given, d.clock.now()), hook: { messageId } }
}

export const setHook =
  (d: MessageReads & WebhookChecks & HookMaking & Needs<'deliverySender'>) =>
  (input: SetHookInput) =>
    safeTry(async function* () {
      yield* await checkHook(d, input.projectId, input)
      const message = yield* getMessage(d)(input)
      const hooks = yield* chain(d.storage.webhooks.hooksOf(refOf(message)))
      const { name = message.id } = input
      const before = hooks.find(({ hook }) => hook.name === name)
      const ref = { projectId: message.projectId, messageId: message.id }
      const hook = newHook(d, ref, input, before?.id)
      const set = yield* chain(d.storage.webhooks.setHook(hook, message.agentId, MAX_HOOKS))
      if (set === 'message_not_found') return fail('message_not_found')
      if (set === 'limit_reached') return invalid('hooks', `must be at most ${MAX_HOOKS}`)
      if (set === 'name_taken') return invalid('name', 'was given to another hook at this moment')
      // The form before must not be sent: the next claim reads the new one.
      if (before) d.deliverySender.webhookDeleted(hook.projectId, hook.id)
      return ok(hook)
    })

/** Sets the hook of a repeated send, unless the message has a hook with its name. */
export async function keepHook(
  d: Reading & HookMaking,
  message: Message,
  input: HookInput,
): Promise<Result<void, Invalid | Unavailable>> {
  const hook = newHook(d, { projectId: message.projectId, messageId: message.id }, input)
  const set = await d.storage.webhooks.setHook(hook, message.agentId, MAX_HOOKS)
  if (!set.ok) return err(set.error)
  return set.value === 'limit_reached'
    ? invalid('hooks', `must be at most ${MAX_HOOKS}`)
    : ok(undefined)
}

export const listHooks = (d: MessageReads) => (input: MessageInput) =>
  getMessage(d)(input)
    .andThen((message) => chain(d.storage.webhooks.hooksOf(refOf(message))))
    .map((hooks) => hooks.filter(isTaskHook))

export const deleteHook =
  (d: MessageReads & Needs<'deliverySender'>) =>
  ({ name, ...input }: MessageInput & { readonly name: string }) =>
    safeTry(async function* () {
      const ref = refOf(yield* getMessage(d)(input))
      const hooks = yield* chain(d.storage.webhooks.hooksOf(ref))
      const found = hooks.find(({ hook }) => hook.name === name)
      if (!found) return ok(false)
      const isDeleted = yield* chain(d.storage.webhooks.deleteHook(ref, name))
      d.deliverySender.webhookDeleted(ref.projectId, found.id)
      return ok(isDeleted)
    })

const refOf = ({ projectId, agentId, id: messageId }: Message) => ({
  projectId,
  agentId,
  messageId,
})
