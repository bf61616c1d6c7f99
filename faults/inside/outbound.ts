import type { AttemptMaker, WebhookSender } from '@org/agent-messaging-core'
import { httpWebhookSender as createSender, webhookThread as createThread, type WebhookThread } from '@org/agent-messaging-outbound'
import { offset } from './platform.js'
import { pass } from './points.js'

export { addressGuard, guardedFetch, httpRuntime, openaiRuntime, outboundHttp } from '@org/agent-messaging-outbound'

/** Passes `before send`, and `after send` when the receiver has answered. */
export function httpWebhookSender(...args: Parameters<typeof createSender>): WebhookSender {
  const sender = createSender(...args)
  return {
    ...sender,
    send: (request) =>
      passing(
        () => sender.send(request),
        (outcome) => outcome,
      ),
  }
}

/** The same of a thread; the server's clock is the process's. */
export function webhookThread(...args: Parameters<typeof createThread>): WebhookThread {
  const thread = createThread(...args)
  const make: AttemptMaker['make'] = async (order) => {
    const made = await passing(
      () => thread.make(order),
      ({ outcome }) => outcome,
    )
    return { ...made, startedAt: made.startedAt + offset(), endedAt: made.endedAt + offset() }
  }
  return { ...thread, make }
}

async function passing<T>(send: () => Promise<T>, outcomeOf: (sent: T) => { readonly kind: string }): Promise<T> {
  pass('before send')
  const sent = await send()
  if (outcomeOf(sent).kind === 'accepted') pass('after send')
  return sent
}
