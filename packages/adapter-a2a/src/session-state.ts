import { z } from 'zod'

/**
 * The state of a session between its runs: the agent's context, and the latest task with the
 * message that started or continued it. `question` is set if the agent asked a question. The next
 * message then continues this task. It tells this question from a later one.
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
