import type { AnswerStream, MessagingService } from '@org/agent-messaging-core'

type Watch = {
  readonly service: Pick<MessagingService, 'keys' | 'policy'>
  /** The API key that opened the stream. */
  readonly key: string
  /** Milliseconds from any origin. */
  readonly now: () => number
}
type Events = Pick<AnswerStream, 'next' | 'return'>

/**
 * Ends the stream after its API key was revoked or has expired. The key is checked before an event
 * is sent, if the last check is `keyCheckMs` ago. Each heartbeat is an event, so the stream ends
 * within `keyCheckMs` and one heartbeat. An unavailable storage does not end the stream.
 */
export function whileAuthorized(stream: AnswerStream, { service, key, now }: Watch): Events {
  let checkedAt = now()

  async function isRevoked(): Promise<boolean> {
    if (now() - checkedAt < service.policy.stream.keyCheckMs) return false
    checkedAt = now()
    const found = await service.keys.authenticate(key)
    return found.isErr() && found.error.kind === 'unauthorized'
  }

  return {
    async next() {
      const next = await stream.next()
      if (next.done || !(await isRevoked())) return next
      await stream.return?.()
      return { done: true, value: undefined }
    },
    return: async () => (await stream.return?.()) ?? { done: true, value: undefined },
  }
}
