import { ok, safeTry } from 'neverthrow'
import { fail } from '../../domain/values/fail.js'
import type { Message, RunningMessage } from '../../domain/messages/message.js'
import { isSameQuestion, parseQuestion } from '../../domain/messages/message-input.js'
import type { EndedRun } from '../../domain/messages/run.js'
import type { Unavailable } from '../../ports/stored.js'
import type { Needs } from '../context.js'
import type { Platform } from '../../platform.js'
import { invalid, type Invalid } from '../../domain/values/input-rules.js'
import { collectingParts } from '../collecting-parts.js'
import { readRunToken } from './run-token.js'
import { responseProblem, settleRun, type SettleContext } from './settle-run.js'
import { chain, existing } from '../../pacing/chain.js'

export type AnswerInput = {
  /** The id or name of the message's agent. Any agent if absent. */
  readonly agent?: string | undefined
  readonly messageId: string
  /** The token that the runtime got with the run. */
  readonly runToken: string
  readonly run: EndedRun
  /** Part events of the run. Events that are not valid are dropped. */
  readonly parts?: readonly object[] | undefined
}
export type AnswerError =
  | Invalid
  | Unavailable
  | { readonly kind: 'run_token_invalid' | 'message_not_found' | 'run_superseded' }

export const isRunToken =
  (d: Pick<Platform, 'crypto'>) =>
  ({ messageId, runToken }: Pick<AnswerInput, 'messageId' | 'runToken'>): boolean =>
    readRunToken(d.crypto, messageId, runToken) !== undefined

export const answerRun =
  (d: SettleContext & Needs<'dispatcher'>) =>
  ({ agent: name, messageId, runToken, run, parts = [] }: AnswerInput) =>
    safeTry(async function* () {
      const token = readRunToken(d.crypto, messageId, runToken)
      if (token === undefined) return fail('run_token_invalid')
      const found = yield* existing(d.storage.messages.getHeld(messageId), 'message_not_found')
      const { message } = found
      const agent = yield* chain(d.storage.agents.get(message.projectId, name ?? message.agentId))
      if (agent?.id !== message.agentId) return fail('message_not_found')
      const isNewest = found.token === token
      if (isRepeat(message, run, isNewest)) return ok(message)
      if (!isOpen(message) || !isNewest) return fail('run_superseded')
      const problem = problemOf(run, message, d.policy.limits.responseLength)
      if (problem) return problem
      const recorded = yield* chain(
        settleRun(d, {
          held: { messageId, token },
          message,
          run,
          partsOf: (response) => {
            const collector = collectingParts(d, message)
            for (const part of parts) collector.take(part)
            return collector.finish(response)
          },
          agent,
        }),
      )
      if (recorded.kind === 'lease_lost') {
        // Possibly by this answer, if the store took it and its confirmation was lost.
        const after = yield* chain(d.storage.messages.getHeld(messageId))
        return after && isRepeat(after.message, run, after.token === token)
          ? ok(after.message)
          : fail('run_superseded')
      }
      if (recorded.sessionWaits) d.dispatcher.wake(message.agentId)
      return ok(recorded.message)
    })

function problemOf(run: EndedRun, message: Message, maxLength: number) {
  if (run.kind === 'input_required') {
    const question = parseQuestion(run)
    return typeof question === 'string' ? invalid('question', question) : undefined
  }
  const problem =
    run.kind === 'answered' ? responseProblem(run.response, message, maxLength) : undefined
  return problem === undefined ? undefined : invalid('response', problem)
}

const isOpen = (message: Message): message is RunningMessage =>
  message.state.kind === 'running' || message.state.kind === 'deferred'

/**
 * True if the message already has this outcome. After a retryable failure it waits in the queue,
 * and its token is still the newest.
 */
function isRepeat({ state, inputs }: Message, run: EndedRun, isNewest: boolean): boolean {
  if (run.kind === 'input_required') {
    const last = inputs?.at(-1)
    return isNewest && state.kind !== 'running' && !!last && isSameQuestion(last, run)
  }
  if (run.kind === 'answered') return state.kind === 'responded' && state.response === run.response
  if (state.kind === 'queued') return run.retryable && isNewest
  return (
    state.kind === 'failed' &&
    state.error.code === run.error.code &&
    state.error.message === run.error.message
  )
}
