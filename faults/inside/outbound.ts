import type { WebhookSender } from '@org/agent-messaging-core'
import { httpWebhookSender as create } from '@org/agent-messaging-outbound'
import { pass } from './points.js'

export { addressGuard, guardedFetch, httpRuntime, openaiRuntime, outboundHttp } from '@org/agent-messaging-outbound'

/** Passes `before send`, and `after send` when the receiver has answered. */
export function httpWebhookSender(...args: Parameters<typeof create>): WebhookSender {
  const sender = create(...args)
  return {
    ...sender,
    send: async (request) => {
      pass('before send')
      const outcome = await sender.send(request)
      if (outcome.kind === 'accepted') pass('after send')
      return outcome
    },
  }
}
