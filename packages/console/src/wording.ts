import { circuitAt, deliveryStatusOf } from '@org/agent-messaging-core'
import type { Instant, Webhook } from '@org/agent-messaging-core'
import type {
  AgentState,
  DeliveryState,
  MessageStateKind,
  Outcome,
} from '@org/agent-messaging-core/runtime'
import { relative, span, type Tone } from './parts.js'

type Words = { readonly tone: Tone; readonly words: string }

/** How a webhook is, and why. */
export function healthOf(
  { status, health }: Webhook,
  now: Instant,
): Words & { readonly why?: string } {
  const { consecutiveFailures: failures, failingSince = now, lastSuccessAt, circuit } = health
  if (status.kind === 'disabled')
    return {
      ...disabled[status.reason](failures, span(status.at - failingSince)),
      tone: status.reason === 'operator' ? 'idle' : 'bad',
    }
  const why = `${failures} ${failures === 1 ? 'failure' : 'failures'} in a row, the first ${relative(failingSince, now)}`
  switch (circuitAt(health, now)) {
    case 'open':
      return {
        tone: 'bad',
        words: 'backing off',
        why: `${why}; tried again ${circuit.kind === 'open' ? relative(circuit.until, now) : 'soon'}`,
      }
    case 'half_open':
      return {
        tone: 'busy',
        words: 'probing',
        why: 'One delivery goes out first; once it is accepted, the rest follows.',
      }
    case 'closed':
      if (failures > 0) return { tone: 'bad', words: 'failing', why }
      return lastSuccessAt === undefined
        ? { tone: 'idle', words: 'no attempts yet' }
        : { tone: 'good', words: 'healthy' }
  }
}

const disabled = {
  operator: () => ({
    words: 'paused',
    why: 'Somebody paused it. What it would get is kept until it is enabled, up to a limit.',
  }),
  failing: (failures: number, length: string) => ({
    words: 'disabled',
    why: `It did nothing but fail for ${length}, ${failures} times. Mend the receiver, then enable it: what was kept is sent.`,
  }),
  gone: () => ({
    words: 'disabled',
    why: 'It answered 410 Gone, and was set to be disabled by that.',
  }),
}

const deliveryTones = {
  pending: 'busy',
  delivered: 'good',
  exhausted: 'bad',
  cancelled: 'idle',
} as const
export function deliveryWords(state: DeliveryState): Words {
  const status = deliveryStatusOf(state)
  return { tone: deliveryTones[status], words: state.kind === 'sending' ? 'sending' : status }
}

export function outcomeWords(outcome: Outcome | undefined): Words {
  if (!outcome) return { tone: 'idle', words: 'none yet' }
  if (outcome.kind === 'unreachable')
    return { tone: 'bad', words: `not reached: ${outcome.error.replaceAll('_', ' ')}` }
  return { tone: outcome.kind === 'accepted' ? 'good' : 'bad', words: String(outcome.statusCode) }
}

export const agentTones = {
  running: 'good',
  starting: 'busy',
  stopping: 'busy',
  stopped: 'idle',
  error: 'bad',
} as const satisfies Record<AgentState['kind'], Tone>

export const messageTones = {
  ...({
    queued: 'busy',
    running: 'busy',
    deferred: 'busy',
    responded: 'good',
    failed: 'bad',
    cancelled: 'idle',
  } as const),
} satisfies Record<MessageStateKind, Tone>
