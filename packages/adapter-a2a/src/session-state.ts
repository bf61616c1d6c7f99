import { z } from 'zod'

/**
 * The stored state of a session: the agent's context, and the latest task with the message that
 * started or continued it. `question` identifies an open question of the agent. The next message
 * then continues the task.
 */
export type SessionState = z.infer<typeof sessionState>

const sessionState = z.object({
  contextId: z.string(),
  taskId: z.string().optional(),
  messageId: z.string().optional(),
  question: z.string().optional(),
})

/** Returns undefined for the state of another kind of runtime. */
export function parseSessionState(text: string | undefined): SessionState | undefined {
  try {
    return sessionState.safeParse(JSON.parse(text ?? 'null')).data
  } catch {
    return undefined
  }
}
