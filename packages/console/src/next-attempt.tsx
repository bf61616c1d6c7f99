import type { Instant, Webhook } from '@org/agent-messaging-core'
import { Time } from './parts.js'

type NextAttemptProps = {
  readonly at: Instant
  readonly webhook: Webhook | undefined
  readonly now: Instant
}

/** When a delivery is tried next: its own time, or what holds it up when that has passed. */
export function NextAttempt({ at, webhook, now }: NextAttemptProps) {
  if (webhook?.status.kind === 'disabled') return <>once enabled</>
  const circuit = webhook?.health.circuit
  const until = circuit?.kind === 'open' ? Math.max(at, circuit.until) : at
  return until > now ? <Time at={until} now={now} /> : <>due now</>
}
