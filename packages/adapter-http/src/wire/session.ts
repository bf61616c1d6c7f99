import { toIso, type SessionSummary } from '@org/agent-messaging-core'

export const sessionBody = ({ sessionId, openCount, lastMessageId, lastMessageAt }: SessionSummary) => ({
  ...{ sessionId, openCount, lastMessageId },
  lastMessageAt: toIso(lastMessageAt),
})
