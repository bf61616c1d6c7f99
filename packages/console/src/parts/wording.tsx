import { BASE } from '../context.js'
import type { Instant, Webhook } from '@org/agent-messaging-core'
import type { Outcome, RunError } from '@org/agent-messaging-core/runtime'
import {
  circuitAt,
  deliveryStatusOf,
  type RunEndReason,
  type WebhookLimit,
} from '@org/agent-messaging-core/host'
import type { AgentState, DeliveryState, MessageStateKind } from '@org/agent-messaging-core/storage'
import { type Label, relative, span, type Tone } from './parts.js'
import { useView } from './zone.js'

/** Describes the health of a webhook, and its reason. */
export function healthOf(
  { status, isPaused, health }: Webhook,
  now: Instant,
): Label & { readonly reason?: string } {
  const { consecutiveFailures: failures, failingSince = now, lastSuccessAt, circuit } = health
  if (status.kind === 'disabled')
    return {
      tone: status.reason === 'operator' ? 'idle' : 'bad',
      text: 'disabled',
      reason: disabled[status.reason](failures, span(status.at - failingSince)),
    }
  if (isPaused)
    return { tone: 'idle', text: 'paused', reason: 'All deliveries are kept until you resume it.' }
  const first = relative(failingSince, now)
  const reason =
    failures === 1 ? `1 failure ${first}` : `${failures} failures in a row, first ${first}`
  switch (circuitAt(health, now)) {
    case 'open':
      return {
        tone: 'bad',
        text: 'backing off',
        reason: `${reason}, next try ${circuit.kind === 'open' ? relative(circuit.until, now) : 'soon'}`,
      }
    case 'half_open':
      return {
        tone: 'busy',
        text: 'probing',
        reason: 'One delivery is sent first. The rest follow after the receiver accepts it.',
      }
    case 'closed':
      if (failures > 0) return { tone: 'bad', text: 'failing', reason }
      return lastSuccessAt === undefined
        ? { tone: 'idle', text: 'no attempts yet' }
        : { tone: 'good', text: 'healthy' }
  }
}

const disabled = {
  operator: () =>
    'Disabled by an operator. New deliveries are kept until you enable it, up to a limit.',
  failing: (failures: number, length: string) =>
    `All ${failures} attempts in ${length} failed. Fix the receiver, then enable the webhook to send the kept deliveries.`,
  gone: () => 'The receiver answered 410 Gone, which disables this webhook.',
}

const limitReasons = {
  growing: 'grows when the receiver accepts more',
  refusals: 'the receiver refuses more',
  slots: 'deliveries wait until one of the requests ends',
  setting: 'a setting allows no more',
  circuit: 'until the receiver accepts it',
} as const

/** Describes the most that this process sends to a webhook, and why. */
export function limitText({ concurrency, requestsPerSecond, reason }: WebhookLimit) {
  const most = reason === 'circuit' ? 1 : concurrency
  const requests = most === 1 ? '1 request at a time' : `${most} requests at a time`
  const rate =
    requestsPerSecond === undefined || reason === 'circuit'
      ? ''
      : `, ${Number(requestsPerSecond.toPrecision(3))} per second`
  return `${requests}${rate}: ${limitReasons[reason]}`
}

const deliveryTones = {
  pending: 'busy',
  delivered: 'good',
  exhausted: 'bad',
  cancelled: 'idle',
} as const
export function deliveryLabel(state: DeliveryState): Label {
  const status = deliveryStatusOf(state)
  const isShown = state.kind === 'sending' || state.kind === 'waiting'
  return { tone: deliveryTones[status], text: isShown ? state.kind : status }
}

export function outcomeLabel(outcome: Outcome | undefined): Label {
  if (!outcome) return { tone: 'idle', text: 'none yet' }
  if (outcome.kind === 'unreachable')
    return { tone: 'bad', text: `unreachable: ${outcome.error.replaceAll('_', ' ')}` }
  return { tone: outcome.kind === 'accepted' ? 'good' : 'bad', text: String(outcome.statusCode) }
}

/** Returns the label of a state, whose text is its name. */
export const labels =
  <Kind extends string>(tones: Readonly<Record<Kind, Tone>>) =>
  ({ kind }: { readonly kind: Kind }): Label => ({ tone: tones[kind], text: kind })

export const agentLabel = labels<AgentState['kind']>({
  running: 'good',
  starting: 'busy',
  stopping: 'busy',
  stopped: 'idle',
  error: 'bad',
})

export const messageLabel = labels<MessageStateKind>({
  queued: 'busy',
  running: 'busy',
  deferred: 'busy',
  input_required: 'busy',
  responded: 'good',
  failed: 'bad',
  cancelled: 'idle',
})

const runTones: Readonly<Record<RunEndReason, Tone>> = {
  answered: 'good',
  input_required: 'busy',
  failed: 'bad',
  timed_out: 'bad',
  lost: 'bad',
  cancelled: 'idle',
}
export const runLabel = (reason: RunEndReason | undefined): Label =>
  reason ? { tone: runTones[reason], text: reason } : { tone: 'busy', text: 'running' }

/** Cuts a text, but not in the middle of a character of two UTF-16 units. */
export const shortened = (text: string, length: number) =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`

const SHOWN_ERROR = 500

/** Shows why a run failed. A customer sees only that it did. */
export function ErrorText({ code, message }: RunError) {
  return (
    <p class="said">
      {useView().c.get('portal') ? (
        'The agent failed.'
      ) : (
        <>
          <code>{code}</code> <bdi>{shortened(message, SHOWN_ERROR)}</bdi>
        </>
      )}
    </p>
  )
}

type NameProps = { readonly webhook: Pick<Webhook, 'id' | 'url' | 'description'> | undefined }

/** Links to a webhook by its description, with the URL below. Without a description by its URL. */
export function WebhookName({ webhook }: NameProps) {
  if (!webhook) return <span class="muted">deleted, or of one message</span>
  const { id, url, description } = webhook
  const path = `${BASE}/webhooks/${id}`
  return description === undefined ? (
    <a class="url" href={path}>
      {url}
    </a>
  ) : (
    <span class="named">
      <a href={path}>{description}</a>
      <span class="url muted small">{url}</span>
    </span>
  )
}

/** The name of a webhook where only plain text fits. */
export const webhookLabel = ({ url, description }: Pick<Webhook, 'url' | 'description'>) =>
  description === undefined ? url : `${description} (${url})`
