import type { AnswerStream, Message } from '@org/agent-messaging-core'
import { isSettled } from '@org/agent-messaging-core/host'
import { AnswerText } from '@org/agent-messaging-http-kit'

/** The process that runs the agent is asked for this long. */
const MAX_WAIT_MS = 500
/** The pieces that the agent has emitted before come without a longer pause. */
const PAUSE_MS = 50

/** A message as it is now, and the text that its agent has emitted so far. */
export type SoFar = { readonly message: Message; readonly text: string }

export async function readSoFar(message: Message, stream: AnswerStream): Promise<SoFar> {
  const answer = new AnswerText()
  let newest = message
  const end = (): void => void stream.return?.()
  const waiting = setTimeout(end, MAX_WAIT_MS)
  let pause: NodeJS.Timeout | undefined
  for await (const event of stream) {
    if (event.kind === 'state' || event.kind === 'message') newest = event.message
    if (isSettled(newest.state)) break
    if (event.kind !== 'chunk') continue
    answer.take(event)
    clearTimeout(pause)
    pause = setTimeout(end, PAUSE_MS)
  }
  clearTimeout(waiting)
  clearTimeout(pause)
  return { message: newest, text: newest.state.kind === 'running' ? answer.text : '' }
}
