import { z } from 'zod'

/**
 * What is kept of a session between its runs: the remote agent's id of the conversation, and its latest task with the message
 * that began or continued it. `asked`: the agent has asked back, so the next message is one to this task; it tells that
 * question from a later one.
 */
export type Conversation = z.infer<typeof conversation>

const conversation = z.object({
  contextId: z.string(),
  taskId: z.string().optional(),
  messageId: z.string().optional(),
  asked: z.string().optional(),
})

/** A state that is not ours, of an agent that was of another kind before, counts as none. */
export function readConversation(sessionState: string | undefined): Conversation | undefined {
  try {
    return conversation.safeParse(JSON.parse(sessionState ?? 'null')).data
  } catch {
    return undefined
  }
}
