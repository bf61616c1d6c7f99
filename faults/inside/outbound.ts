import type { AttemptMaker, WebhookSender } from '@org/agent-messaging-core/runtime'
import {
  httpWebhookSender as createSender,
  webhookThread as createThread,
  type WebhookThread,
} from '@org/agent-messaging-adapter-outbound'
import { reach } from './points.js'

export {
  addressGuard,
  guardedFetch,
  httpRuntime,
  openaiRuntime,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'

/** Reaches `before send`, and `after send` when the receiver has accepted the request. */
export function httpWebhookSender(...args: Parameters<typeof createSender>): WebhookSender {
  const sender = createSender(...args)
  return {
    ...sender,
    send: async (request) => {
      reach('before send')
      const outcome = await sender.send(request)
      if (outcome.kind === 'accepted') reach('after send')
      return outcome
    },
  }
}

/** The same for a thread. */
export function webhookThread(...args: Parameters<typeof createThread>): WebhookThread {
  const thread = createThread(...args)
  const make: AttemptMaker['make'] = async (order) => {
    reach('before send')
    const made = await thread.make(order)
    if (made.outcome.kind === 'accepted') reach('after send')
    return made
  }
  return { ...thread, make }
}
