import type { MessageFilter } from '../ports/message-store.js'

/** Conditions of a list or a count of messages that both SQL stores share, for the alias `m`. */
export function changeConditions({ progress, changedFrom }: MessageFilter): string[] {
  const conditions: string[] = []
  if (progress !== undefined) conditions.push(PROGRESS[progress])
  // The columns of other states are null.
  if (changedFrom !== undefined)
    conditions.push('coalesce(m.finished_at, m.started_at, m.created_at) >= @changedFrom')
  return conditions
}

const PROGRESS = {
  waiting: "m.state = 'queued' and m.attempt = 0 and m.inputs is null",
  working: `(m.state in ('running', 'deferred')
    or m.state = 'queued' and (m.attempt > 0 or m.inputs is not null))`,
}
