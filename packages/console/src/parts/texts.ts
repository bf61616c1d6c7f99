import type { ServiceError } from '@org/agent-messaging-core'
import { entryFor, textOf, type ByKind } from '@org/agent-messaging-core/host'

/** What the pages say in other words than every interface. */
const texts: Partial<ByKind<ServiceError, string>> = {
  agent_not_found: 'This agent does not exist',
  session_not_found: 'This session does not exist',
  message_not_found: 'This message does not exist',
  webhook_not_found: 'This webhook does not exist',
  recovery_not_found: 'This recovery does not exist',
  recovery_final: 'The recovery has found all matches already',
  too_many_recoveries: 'Too many recoveries are running. Wait, or cancel one',
  delivery_not_found: 'This delivery does not exist',
  agent_busy: 'This agent has messages that are waiting or running',
  session_busy: 'This session has messages that are waiting or running',
  webhook_disabled: 'Enable the webhook first',
  delivery_final: 'The delivery is already final',
  rate_limited: 'The project has reached a limit of its quota. Try again later',
  input_not_found: 'This question does not exist',
  end_user_id_required: 'This agent acts for end users. Enter an end user',
  principal_invalid: ({ reason }) => `The end user is invalid: ${reason}`,
  agent_not_running: 'The agent is not running. Start it first',
  project_not_found: 'This project does not exist',
  key_not_found: 'This API key does not exist',
  too_many_keys: 'The project has reached its limit of API keys. Revoke one first',
}

/** Describes an error to a reader. */
export const problemText = (error: ServiceError) => entryFor(texts, error) ?? textOf(error)

/** Returns 404 for a missing row, 503 if the storage is unavailable, and 400 otherwise. */
export function problemStatus({ kind }: ServiceError): 400 | 404 | 503 {
  if (kind === 'unavailable') return 503
  return kind.endsWith('_not_found') ? 404 : 400
}

const notices: Readonly<Record<string, string>> = {
  undone: 'Your session has ended, so nothing was done. Sign in and try again.',
  started: 'The agent is starting.',
  stopped: 'The agent is stopping. Current runs finish, and waiting messages keep waiting.',
  agentChanged: 'The changes were saved.',
  agentDeleted: 'The agent was deleted with its sessions and messages.',
  personErased: 'The messages of this person were erased, with their deliveries.',
  sessionErased: 'The session was erased with its messages.',
  webhookChanged: 'The changes were saved. They apply to the next request.',
  webhookDeleted: 'The webhook was deleted, and its waiting deliveries were cancelled.',
  paused: 'The webhook is paused. All deliveries are kept until you resume it.',
  resumed: 'The webhook is resumed, and the kept deliveries are sent.',
  disabled: 'The webhook is disabled. Deliveries are kept up to a limit until you enable it.',
  enabled: 'The webhook is enabled. One kept delivery is sent first, then the rest.',
  finished: 'The old secret no longer signs deliveries.',
  redelivered: 'An attempt was requested. This page shows its result.',
  redeliveredBackingOff:
    'An attempt was requested. The webhook is backing off, so its oldest delivery goes first.',
  cancelled: 'Cancelled.',
  skipped: 'Skipped. The next delivery of its session is due now.',
  inputAnswered: 'The answer is stored. The agent runs again and gets the answer.',
  inputWithdrawn: 'The question was withdrawn, and its message failed.',
  retried: 'The message is at the end of its session’s queue.',
  retriedAll: 'The failed messages run again, the oldest first.',
  caught: 'The catcher is now a webhook of this project. Its requests appear here.',
  answering: 'The response was changed.',
  cleared: 'The list was cleared.',
  keyRevoked: 'The API key was revoked and no longer works.',
}

/** Returns the text for an action's name in the address. Unknown names give no text. */
export const noticeText = (name: string | undefined) =>
  name !== undefined && Object.hasOwn(notices, name) ? notices[name] : undefined
