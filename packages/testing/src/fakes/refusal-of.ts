import type { ServiceError } from '@org/agent-messaging-core'
import { errorIn } from '@org/agent-messaging-core/host'

/** Returns the error that a call of the service was refused with. Throws if it was accepted. */
export const refusalOf = (call: Promise<unknown>): Promise<ServiceError> =>
  call.then(() => {
    throw new Error('the call was not refused')
  }, errorIn)
