import type { AnswerStream, MessagingService } from '@org/agent-messaging-core'

type Watch = {
  readonly service: Pick<MessagingService, 'keys' | 'policy'>
  /** The API key that the stream was opened with. */
  readonly key: string
  /** Milliseconds from any origin. */
  readonly now: () => number
}
type Events = Pick<AnswerStream, 'next' | 'return'>

/**
 * The stream for as long as its key opens anything: before an event goes out, the key is looked at anew if that was last done a heartbeat
 * ago. Each heartbeat has an event, so one that is revoked or expires ends its streams within two of them. A storage that is away ends none.
 */
export function whileAuthorized(stream: AnswerStream, { service, key, now }: Watch): Events {
  let lookedAt = now()

  async function isOver(): Promise<boolean> {
    if (now() - lookedAt < service.policy.stream.heartbeatMs) return false
    lookedAt = now()
    const found = await service.keys.authenticate(key)
    return found.isErr() && found.error.kind === 'unauthorized'
  }

  return {
    async next() {
      const next = await stream.next()
      if (next.done || !(await isOver())) return next
      await stream.return?.()
      return { done: true, value: undefined }
    },
    return: async () => (await stream.return?.()) ?? { done: true, value: undefined },
  }
}
