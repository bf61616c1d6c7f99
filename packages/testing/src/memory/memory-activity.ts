import type { ActivityQuery, AttemptCount, MessageCount } from '@org/agent-messaging-core/storage'
import type { Memory } from './memory.js'

export function countMessages(
  memory: Memory,
  { projectId, since, bucketMs, newest }: ActivityQuery,
): MessageCount[] {
  const all = [...memory.messages.values()].map(({ message }) => message)
  const agents = [...memory.agents.values()].filter((agent) => agent.projectId === projectId)
  const newestOnes = agents.flatMap(({ id }) =>
    all.filter(({ agentId }) => agentId === id).slice(-newest),
  )
  const recent = newestOnes.filter(({ createdAt }) => createdAt >= since)
  return counted(
    recent.map(({ createdAt, state }) => ({
      at: bucketOf(createdAt, bucketMs),
      state: state.kind,
    })),
  )
}

export function countAttempts(
  memory: Memory,
  { projectId, since, bucketMs, newest }: ActivityQuery,
): AttemptCount[] {
  const deliveries = [...memory.deliveries.values()].filter(
    ({ delivery }) => delivery.projectId === projectId,
  )
  const attempts = deliveries
    .slice(-newest)
    .flatMap(({ delivery: { webhookId }, attempts: made }) =>
      made.map(({ startedAt, outcome }) => ({
        at: bucketOf(startedAt, bucketMs),
        webhookId,
        startedAt,
        statusCode: outcome.kind === 'unreachable' ? 0 : outcome.statusCode,
      })),
    )
  return counted(
    attempts
      .filter(({ startedAt }) => startedAt >= since)
      .map(({ startedAt: _, ...attempt }) => attempt),
  )
}

const bucketOf = (at: number, bucketMs: number): number => Math.floor(at / bucketMs) * bucketMs

function counted<T extends object>(rows: readonly T[]): (T & { readonly count: number })[] {
  const counts = new Map<string, T & { count: number }>()
  for (const row of rows) {
    const key = JSON.stringify(row)
    const known = counts.get(key)
    if (known) known.count++
    else counts.set(key, { ...row, count: 1 })
  }
  return [...counts.values()]
}
