import { HOLD_CAUSES, type Backlog, type HoldCause } from '@org/agent-messaging-core'
import { passed, warning, type Finding } from './finding.js'

const HOUR_MS = 3_600_000
/** The other causes end without an operator. */
const NEEDS_OPERATOR: readonly HoldCause[] = ['disabled', 'paused', 'circuit']

/** Warns of deliveries that have been due for an hour while their webhook does not accept them. */
export function checkDeliveries({ due, held }: Backlog['deliveries'], now: number): Finding {
  const stuck = NEEDS_OPERATOR.flatMap((cause) => {
    const { count, oldestAt = now } = held[cause]
    const hours = Math.floor((now - oldestAt) / HOUR_MS)
    return hours > 0 ? [`${cause}: ${count}, the oldest for ${hours} h`] : []
  })
  const heldCount = HOLD_CAUSES.reduce((sum, cause) => sum + held[cause].count, 0)
  return stuck.length === 0
    ? passed('deliveries', `${due} due, ${heldCount} held`)
    : warning(
        'deliveries',
        `due deliveries are held (${stuck.join('; ')})`,
        'See the health of the webhooks: agent-messaging webhooks list.',
      )
}

/** Warns of webhooks that nothing or only a probe is sent to, because their receivers fail. */
export function checkCircuits({
  openCircuits,
  halfOpenCircuits,
}: Pick<Backlog['deliveries'], 'openCircuits' | 'halfOpenCircuits'>): Finding {
  return openCircuits + halfOpenCircuits === 0
    ? passed('circuits', 'all are closed')
    : warning(
        'circuits',
        `${openCircuits} open, ${halfOpenCircuits} half-open`,
        'The receivers fail. To see which, run: agent-messaging webhooks list.',
      )
}

const MINUTE_MS = 60_000
/** A server that keeps up starts due work within seconds. */
const MOST_LAG_MINUTES = 5

/** Warns of messages and deliveries that have been due for minutes: more arrive than leave. */
export function checkBacklog(
  {
    messages,
    deliveries,
  }: {
    readonly messages: Pick<Backlog['messages'], 'oldestDueAt'>
    readonly deliveries: Pick<Backlog['deliveries'], 'oldestDueAt'>
  },
  now: number,
): Finding {
  const late = Object.entries({ message: messages, delivery: deliveries }).flatMap(
    ([name, { oldestDueAt = now }]) => {
      const minutes = Math.floor((now - oldestDueAt) / MINUTE_MS)
      return minutes >= MOST_LAG_MINUTES
        ? [`the oldest ${name} has been due for ${minutes} min`]
        : []
    },
  )
  return late.length === 0
    ? passed('backlog', 'no work has waited for minutes')
    : warning(
        'backlog',
        late.join(', and '),
        'Start a server. If one runs, it does not keep up: see docs/operations.md.',
      )
}
