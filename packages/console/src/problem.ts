import type { Issue } from '@org/agent-messaging-core'
import { textOf } from '@org/agent-messaging-core/runtime'

/** The parts of a use case's error that a page shows. */
export type Problem = {
  readonly kind: string
  readonly issues?: readonly Issue[]
  readonly reason?: string
}

const texts: Readonly<Record<string, string>> = {
  agent_not_found: 'This agent does not exist',
  session_not_found: 'This session does not exist',
  message_not_found: 'This message does not exist',
  webhook_not_found: 'This webhook does not exist',
  recovery_not_found: 'This recovery does not exist',
  recovery_final: 'The recovery has ended already',
  too_many_recoveries: 'Too many recoveries are running. Wait, or cancel one',
  delivery_not_found: 'This delivery does not exist',
  agent_busy: 'This agent has messages that are waiting or running',
  session_busy: 'This session has messages that are waiting or running',
  webhook_disabled: 'Enable the webhook first',
  too_many_webhooks: 'The project has reached its limit of webhooks. Delete one first',
  delivery_busy: 'The delivery is being sent now. Try again later',
  delivery_final: 'The delivery is already final',
  session_full: 'Too many messages of this session are waiting. Try again later',
  rate_limited: 'The project has reached a limit of its quota. Try again later',
  input_not_found: 'This question does not exist',
  input_restricted: 'Only the principal of the message can answer this question',
  message_not_retryable: 'Only a failed or cancelled message can be retried',
  message_final: 'The message is final and cannot be cancelled',
  end_user_id_required: 'This agent acts for end users. Enter an end user',
  agent_not_running: 'The agent is not running. Start it first',
  project_not_found: 'This project does not exist',
  key_not_found: 'This API key does not exist',
  too_many_keys: 'The project has reached its limit of API keys. Revoke one first',
}

/** Describes an error to a reader. */
export function problemText({ kind, issues, reason }: Problem): string {
  if (issues) return issues.map(({ path, message }) => `${path} ${message}`).join('; ')
  if (kind === 'principal_invalid')
    return `The end user is invalid${reason === undefined ? '' : `: ${reason}`}`
  if (kind === 'unavailable') return textOf({ kind, reason: reason ?? '' })
  return texts[kind] ?? 'The action failed'
}

/** Returns 404 for a missing row, 503 if the storage is unavailable, and 400 otherwise. */
export function problemStatus({ kind }: Problem): 400 | 404 | 503 {
  if (kind === 'unavailable') return 503
  return kind.endsWith('_not_found') ? 404 : 400
}
