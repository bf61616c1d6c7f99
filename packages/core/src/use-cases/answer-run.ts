import { ok, safeTry, type ResultAsync } from 'neverthrow'
import { fail } from '../domain/fail.js'
import type { Message, RunningMessage } from '../domain/message.js'
import type { FinishedRun } from '../domain/run.js'
import type { Unavailable } from '../ports/storage.js'
import type { Deps } from './deps.js'
import { readRunToken } from './run-token.js'
import { settleRun } from './settle-run.js'

export type AnswerInput = {
  readonly messageId: string
  /** What the runtime was given with the run. */
  readonly runToken: string
  readonly run: FinishedRun
}
export type AnswerError = Unavailable | { readonly kind: 'run_token_invalid' | 'message_not_found' | 'run_superseded' }

/** A runtime answers later, by callback. Repeating the same answer is fine; another one, or one of an older run, is refused. */
export const answerRun =
  (d: Parameters<typeof settleRun>[0] & Pick<Deps, 'crypto' | 'dispatcher'>) =>
  ({ messageId, runToken, run }: AnswerInput): ResultAsync<Message, AnswerError> =>
    safeTry(async function* () {
      const token = readRunToken(d.crypto, messageId, runToken)
      if (token === undefined) return fail('run_token_invalid')
      const found = yield* d.storage.messages.getHeld(messageId)
      if (!found) return fail('message_not_found')
      const { message } = found
      if (isRepeat(message, run)) return ok(message)
      if (!isOpen(message) || found.token !== token) return fail('run_superseded')
      const agent = yield* d.storage.agents.get(message.projectId, message.agentId)
      const recorded = yield* await settleRun(d)({ held: { messageId, token }, message, run, maxAttempts: agent?.maxAttempts ?? 1 })
      if (recorded.kind === 'lease_lost') return fail('run_superseded')
      if (recorded.sessionWaits) d.dispatcher.wake()
      return ok(recorded.message)
    })

const isOpen = (message: Message): message is RunningMessage => message.state.kind === 'running' || message.state.kind === 'deferred'

const isRepeat = ({ state }: Message, run: FinishedRun): boolean =>
  state.kind === 'responded' && run.kind === 'answered' && state.response === run.response
