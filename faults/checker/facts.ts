import type { Fact } from './history.js'

// Facts that the service counts. Written apart from the service, so that a mistake there shows.

/** The upper ends of the buckets of response times, as `docs/` names them. */
const BUCKETS_MS = [
  100, 250, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000,
]

const bytesOf = (text: string): number => Buffer.byteLength(text)

type Accepted = {
  readonly agentId: string
  readonly at: number
  readonly message: string
  /** JSON. */
  readonly metadata?: string | null | undefined
}

export const acceptedFact = ({ agentId, at, message, metadata }: Accepted): Fact => ({
  subject: 'agent',
  id: agentId,
  at,
  counts: { messages: 1, bytesIn: bytesOf(message) + bytesOf(metadata ?? '') },
})

/** A published event. `body` is what its receivers get. */
export const publishedFact = ({
  at,
  body,
}: {
  readonly at: number
  readonly body: string
}): Fact => ({
  subject: 'project',
  id: '',
  at,
  counts: { events: 1, bytesIn: bytesOf(body) },
})

type Ended = {
  readonly agentId: string
  readonly at: number
  readonly kind: string
  /** Present for an answer, as the next one. */
  readonly response?: string
  readonly responseTimeMs?: number
  /** Present for a failed message whose codes are counted. */
  readonly error?: { readonly code: string }
}

/** The end of a message. Empty for a state that is not its end. */
export function endedFacts({
  agentId,
  at,
  kind,
  response = '',
  responseTimeMs = 0,
  error,
}: Ended): Fact[] {
  const bucket = BUCKETS_MS.filter((end) => end < responseTimeMs).length
  const counts = {
    responded: { answered: 1, bytesOut: bytesOf(response), [`time:${bucket}`]: 1 },
    failed: { failed: 1, ...(error && { [`error:${error.code}`]: 1 }) },
    cancelled: { cancelled: 1 },
  }[kind]
  return counts ? [{ subject: 'agent', id: agentId, at, counts }] : []
}

type Tokens = { readonly inputTokens?: number; readonly outputTokens?: number }

export const ranFact = (agentId: string, at: number, tokens: Tokens = {}): Fact => ({
  subject: 'agent',
  id: agentId,
  at,
  counts: { runs: 1, ...tokens },
})

type Attempted = {
  readonly webhookId: string
  readonly startedAt: number
  readonly body: string
  readonly outcome: { readonly kind: string; readonly statusCode?: number; readonly error?: string }
}

export function attemptedFact({ webhookId, startedAt, body, outcome }: Attempted): Fact {
  const { kind, statusCode = 0, error } = outcome
  const status = statusCode === 429 ? '429' : `${Math.floor(statusCode / 100)}xx`
  const answer = error === 'timeout' ? 'timeout' : 'unreachable'
  const isAnswered = kind !== 'unreachable'
  return {
    subject: 'webhook',
    id: webhookId,
    at: startedAt,
    counts: {
      attempts: 1,
      [`class:${isAnswered ? status : answer}`]: 1,
      ...(isAnswered && { bytesOut: bytesOf(body) }),
    },
  }
}

export const settledFact = (
  webhookId: string,
  at: number,
  kind: 'delivered' | 'exhausted',
): Fact => ({ subject: 'webhook', id: webhookId, at, counts: { deliveries: 1, [kind]: 1 } })
