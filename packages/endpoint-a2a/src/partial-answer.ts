import type { Part } from '@a2a-js/sdk'
import type { AnswerStream, Message } from '@org/agent-messaging-core'
import { isSettled } from '@org/agent-messaging-core/host'
import { AnswerSteps, type AnswerStep } from '@org/agent-messaging-http-kit'
import { artifactParts } from './artifact-parts.js'

/** The process that runs the agent is asked for this long. */
const MAX_WAIT_MS = 500
/** The pieces that the agent has emitted before come without a longer pause. */
const PAUSE_MS = 50

/** A message as it is now, and what its agent has emitted so far. */
export type SoFar = { readonly message: Message; readonly parts: readonly Part[] }

export async function readSoFar(message: Message, stream: AnswerStream): Promise<SoFar> {
  const answer = new AnswerSteps()
  const steps: AnswerStep[] = []
  let newest = message
  const end = (): void => void stream.return?.()
  const waiting = setTimeout(end, MAX_WAIT_MS)
  let pause: NodeJS.Timeout | undefined
  for await (const event of stream) {
    if (event.kind === 'state' || event.kind === 'message') newest = event.message
    if (isSettled(newest.state)) break
    if (event.kind !== 'chunk' && event.kind !== 'part') continue
    steps.push(...answer.take(event))
    clearTimeout(pause)
    pause = setTimeout(end, PAUSE_MS)
  }
  clearTimeout(waiting)
  clearTimeout(pause)
  return { message: newest, parts: newest.state.kind === 'running' ? artifactParts(steps) : [] }
}
