import type {
  AttemptMaker,
  AttemptOrder,
  AttemptPolicy,
  Clock,
} from '@org/agent-messaging-core/runtime'
import { systemClock } from '@org/agent-messaging-core/node'
import type { AddressPolicy } from '../address-guard.js'
import type { OutboundOptions } from '../outbound-http.js'
import { SenderThread, THREAD_ENDED, unsent, type ThreadData } from './sender-thread.js'

export type WebhookThreadOptions = {
  /** The service's master key. The thread unseals the secrets that it signs with. */
  readonly masterKey: Uint8Array
  /** The service's other master keys. */
  readonly otherMasterKeys?: readonly Uint8Array[] | undefined
  /** The service's policy, or its part about attempts. */
  readonly policy: AttemptPolicy
  /** Addresses that webhooks can use besides public ones over https. */
  readonly addresses?: AddressPolicy
  readonly outbound?: Omit<OutboundOptions, 'guard'>
  /** The service's clock. Default: the system's. */
  readonly clock?: Clock
  /** Receives the reason when a thread ends before `close`. */
  readonly onError?: (reason: string) => void
}

export type WebhookThread = AttemptMaker & {
  /** Ends the thread. Running and later attempts are unreachable. */
  close(): Promise<void>
}

/**
 * Signs and sends webhooks in a thread, so that the main event loop stays free for the API and the
 * store. The first attempt starts the thread.
 *
 * If the thread ends unexpectedly, its attempts end as `interrupted`, and the next attempt starts a
 * new one. Only running attempts keep the process alive.
 */
export function webhookThread({
  onError = () => undefined,
  clock = systemClock,
  ...options
}: WebhookThreadOptions): WebhookThread {
  let thread: SenderThread | undefined
  let isClosed = false
  /** The last thread ended while it loaded. The next attempts fail instead of waiting. */
  let failedToLoad = false

  function onEnd(reason: string, hadLoaded: boolean) {
    thread = undefined
    failedToLoad = !hadLoaded
    if (!isClosed) onError(reason)
  }

  function running(): SenderThread | undefined {
    try {
      thread ??= new SenderThread(threadData(options), clock, onEnd)
    } catch (error) {
      // The platform allows no more threads, or an option cannot be cloned.
      onError(String(error))
      failedToLoad = true
    }
    return thread
  }

  async function make(order: AttemptOrder, canWait = false) {
    if (isClosed) return unsent(clock, 'the service is stopping')
    return (await running()?.make(order, canWait)) ?? unsent(clock, THREAD_ENDED)
  }

  return {
    starting: () => (isClosed || failedToLoad ? undefined : running()?.loading),
    make,
    async close() {
      isClosed = true
      await thread?.close()
    },
  }
}

/** Copies only the used fields, because a host's policy can contain functions. */
function threadData({
  masterKey,
  otherMasterKeys = [],
  policy: { headerPrefix, deliver },
  addresses = {},
  outbound = {},
}: Omit<WebhookThreadOptions, 'onError' | 'clock'>): ThreadData {
  const policy = { headerPrefix, deliver: { deadlineMs: deliver.deadlineMs } }
  return { masterKey, otherMasterKeys, policy, addresses, outbound }
}
