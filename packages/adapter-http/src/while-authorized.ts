import type { AnswerStream } from '@org/agent-messaging-core'

type Events = Pick<AnswerStream, 'next' | 'return'>

/**
 * Ends the stream after its API key was revoked or has expired. The key is checked before an event
 * is sent. Each heartbeat is an event, so the stream ends within `keyCheckMs` and one heartbeat.
 */
export const whileAuthorized = (
  stream: AnswerStream,
  isRevoked: () => Promise<boolean>,
): Events => ({
  async next() {
    const next = await stream.next()
    if (next.done || !(await isRevoked())) return next
    await stream.return?.()
    return { done: true, value: undefined }
  },
  return: async () => (await stream.return?.()) ?? { done: true, value: undefined },
})
