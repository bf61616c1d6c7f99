import type { AttemptMaker, WebhookSender } from '@org/agent-messaging-core/runtime'
import {
  httpWebhookSender as createSender,
  webhookThread as createThread,
  type WebhookThread,
} from '@org/agent-messaging-outbound'
import { offset } from './platform.js'
import { reach } from './points.js'

export {
  addressGuard,
  guardedFetch,
  httpRuntime,
  openaiRuntime,
  outboundHttp,
} from '@org/agent-messaging-outbound'

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

/** The same for a thread, which uses the clock of the machine instead of the server's clock. */
export function webhookThread(...args: Parameters<typeof createThread>): WebhookThread {
  const thread = createThread(...args)
  const make: AttemptMaker['make'] = async ({ lease, ...order }) => {
    reach('before send')
    const { startedAt, endedAt, ...made } = await thread.make({
      ...order,
      lease: { until: lease.until - offset() },
    })
    if (made.outcome.kind === 'accepted') reach('after send')
    return { ...made, startedAt: startedAt + offset(), endedAt: endedAt + offset() }
  }
  return { ...thread, make }
}
