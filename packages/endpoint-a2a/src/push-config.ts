import type { TaskPushNotificationConfig } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { isSecret } from '@org/agent-messaging-core/runtime'
import type { HookInput } from '@org/agent-messaging-core/host'
import type { TaskHook } from '@org/agent-messaging-core/storage'

const TOKEN_HEADER = 'X-A2A-Notification-Token'

/**
 * Returns the hook of a push notification config. A token in the form of a webhook's secret is also
 * the secret of the signature.
 */
export function hookOf({ id, url, token, authentication }: TaskPushNotificationConfig): HookInput {
  if (authentication && (authentication.scheme === '' || authentication.credentials === ''))
    throw new RequestMalformedError('authentication needs a scheme and credentials')
  const { scheme, credentials } = authentication ?? {}
  return {
    url,
    name: id || undefined,
    headers: {
      ...(token !== '' && { [TOKEN_HEADER]: token }),
      ...(authentication && { Authorization: `${scheme} ${credentials}` }),
    },
    secret: isSecret(token) ? token : undefined,
  }
}

/** Returns the config of a hook, without its token and credentials. */
export const configOf = ({ hook, url }: TaskHook): TaskPushNotificationConfig => ({
  tenant: '',
  id: hook.name,
  taskId: hook.messageId,
  url,
  token: '',
  authentication: undefined,
})
