import { z } from 'zod'
import { TOOL_KINDS } from './acp-permissions.js'

/** A report of the agent about text of the answer or about a tool call. */
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

/** Returns undefined for other reports: thoughts, plans, images and kinds of later versions. */
export const readUpdate = (params: unknown): z.infer<typeof notification> | undefined =>
  notification.safeParse(params).data
