import { type SessionSummary } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, count, uuid, type BodyOf } from './body.js'

export const sessionSchema = z
  .object({
    sessionId: z.string(),
    openCount: count.meta({ description: 'Messages that are not final.' }),
    lastMessageId: uuid,
    lastMessageAt: at,
  })
  .meta({ id: 'Session' })

export const sessionBody = ({
  sessionId,
  openCount,
  lastMessageId,
  lastMessageAt,
}: SessionSummary): BodyOf<typeof sessionSchema> => ({
  sessionId,
  openCount,
  lastMessageId,
  lastMessageAt: toIso(lastMessageAt),
})
