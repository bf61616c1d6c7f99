import { z } from 'zod'
import { TOOL_KINDS } from './acp-permissions.js'

/** What an agent reports while it works, as far as it concerns an answer and the leave to use tools. */
export type AgentUpdate = z.infer<typeof update>

const update = z.discriminatedUnion('sessionUpdate', [
  z.object({
    sessionUpdate: z.literal('agent_message_chunk'),
    content: z.object({ type: z.literal('text'), text: z.string() }),
  }),
  z.object({
    sessionUpdate: z.enum(['tool_call', 'tool_call_update']),
    toolCallId: z.string(),
    kind: z.enum(TOOL_KINDS).nullish().catch(undefined),
  }),
])

const notification = z.object({ sessionId: z.string(), update })

/** Undefined for thoughts, plans, images, what later versions add, and what is no update at all. */
export const readUpdate = (params: unknown): z.infer<typeof notification> | undefined =>
  notification.safeParse(params).data
