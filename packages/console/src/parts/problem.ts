import type { ServiceError } from '@org/agent-messaging-core'
import { entryFor, textOf, type ByKind } from '@org/agent-messaging-core/runtime'

/** What the pages say in other words than every interface. */
const texts: Partial<ByKind<ServiceError, string>> = {
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
export const problemText = (error: ServiceError): string => entryFor(texts, error) ?? textOf(error)

/** Returns 404 for a missing row, 503 if the storage is unavailable, and 400 otherwise. */
export function problemStatus({ kind }: ServiceError): 400 | 404 | 503 {
  if (kind === 'unavailable') return 503
  return kind.endsWith('_not_found') ? 404 : 400
}
