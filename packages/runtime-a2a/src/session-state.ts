import { z } from 'zod'

/**
 * The stored state of a session: the agent's context, and the latest task with the message that
 * started it. `question` identifies the agent's last question. `asked` is the place of this
 * question among the message's inputs. It is absent once the agent has the answer.
 */
export type SessionState = z.infer<typeof sessionState>

const sessionState = z.object({
  contextId: z.string(),
  taskId: z.string().optional(),
  messageId: z.string().optional(),
  question: z.string().optional(),
  asked: z.int().optional(),
})

/** Returns undefined for the state of another kind of runtime. */
export function parseSessionState(text: string | undefined): SessionState | undefined {
  try {
    return sessionState.safeParse(JSON.parse(text ?? 'null')).data
  } catch {
    return undefined
  }
}
