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
