import type { Issue } from '@org/agent-messaging-core'

/** An error of a use case, as far as a page needs to know it. */
export type Problem = {
  readonly kind: string
  readonly issues?: readonly Issue[]
  readonly state?: string
  readonly reason?: string
}

const words: Readonly<Record<string, string>> = {
  agent_not_found: 'There is no such agent',
  agent_busy: 'Messages of it are waiting or running',
  session_busy: 'Messages of it are waiting or running',
  session_not_found: 'There is no such session',
  message_not_found: 'There is no such message',
  webhook_not_found: 'There is no such webhook',
  delivery_not_found: 'There is no such delivery',
  webhook_disabled: 'The webhook is paused: enable it first',
  too_many_webhooks: 'The project has as many webhooks as it may have',
  delivery_busy: 'The delivery is being sent at this moment',
  delivery_final: 'The delivery is final',
  session_full: 'Too many messages of this session are waiting',
  message_not_retryable: 'Only a message that failed or was cancelled can be retried',
  message_final: 'The message is final: there is nothing left to cancel',
  end_user_id_required: 'This agent acts for end users: say for which one',
  agent_not_running: 'The agent is not running: start it first',
  unavailable: 'The service cannot reach its storage at the moment',
}

/** What went wrong, for a reader. */
export function problemText({ kind, issues, reason }: Problem): string {
  if (issues) return issues.map(({ path, message }) => `${path} ${message}`).join('; ')
  if (kind === 'principal_invalid') return `The end user ${reason ?? 'is invalid'}`
  return words[kind] ?? 'This could not be done'
}

/** 404 for what is not there, 503 when the storage is away, 400 otherwise. */
export function problemStatus({ kind }: Problem): 400 | 404 | 503 {
  if (kind === 'unavailable') return 503
  return kind.endsWith('_not_found') ? 404 : 400
}
