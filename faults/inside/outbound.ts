import type { AttemptMaker, WebhookSender } from '@org/agent-messaging-core/runtime'
import {
  httpWebhookSender as createSender,
  webhookThread as createThread,
  type WebhookThread,
} from '@org/agent-messaging-outbound'
import { offset } from './platform.js'
import { pass } from './points.js'

export {
  addressGuard,
  guardedFetch,
  httpRuntime,
  openaiRuntime,
  outboundHttp,
} from '@org/agent-messaging-outbound'

/** Passes `before send`, and `after send` when the receiver has answered. */
export function httpWebhookSender(...args: Parameters<typeof createSender>): WebhookSender {
  const sender = createSender(...args)
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

/** The same of a thread, whose clock is the machine's, not the server's. */
export function webhookThread(...args: Parameters<typeof createThread>): WebhookThread {
  const thread = createThread(...args)
  const make: AttemptMaker['make'] = async ({ lease, ...order }) => {
    pass('before send')
    const { startedAt, endedAt, ...made } = await thread.make({
      ...order,
      lease: { until: lease.until - offset() },
    })
    if (made.outcome.kind === 'accepted') pass('after send')
    return { ...made, startedAt: startedAt + offset(), endedAt: endedAt + offset() }
  }
  return { ...thread, make }
}
