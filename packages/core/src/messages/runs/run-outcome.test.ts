import { expect, it } from 'vitest'
import { failedRun, type RunOutcome } from '../../domain/messages/run.js'
import { concludeRun, exhaustedRun, type AbortReason } from './run-outcome.js'

const answered: RunOutcome = { kind: 'answered', response: 'hi' }
const failed = failedRun('RUNTIME_ERROR', 'no')
const timedOut = failedRun('RUNTIME_TIMEOUT', 'no answer within 600 ms', true)
const drained = failedRun('RUNTIME_LOST', 'the server stopped during the run', true)
const deferred = (deadlineMs?: number): RunOutcome => ({
  kind: 'deferred',
  ...(deadlineMs !== undefined && { deadlineMs }),
})
const settle = (run: RunOutcome) => ({ kind: 'settle', run })
const discard = (isRefused: boolean) => ({ kind: 'discard', isRefused })
const defer = (waitMs: number) => ({ kind: 'defer', waitMs })

it.each<[string, RunOutcome | undefined, AbortReason | undefined, object]>([
  ['stores an answer', answered, undefined, settle(answered)],
  ['stores a failure', failed, undefined, settle(failed)],
  ['stores an answer after its deadline', answered, 'timeout', settle(answered)],
  ['stores an answer during a stop', answered, 'drain', settle(answered)],
  ['reports a timeout', failed, 'timeout', settle(timedOut)],
  ['reports a timeout of an agent that does not end', undefined, 'timeout', settle(timedOut)],
  ['goes back to the queue at a stop', undefined, 'drain', settle(drained)],
  ['discards an answer without a lease, with a report', answered, 'lost', discard(true)],
  ['discards a failure without a lease, with a report', failed, 'lost', discard(true)],
  [
    'discards the answer of a cancelled message, with a report',
    answered,
    'cancelled',
    discard(true),
  ],
  ['discards the failure of a cancelled message silently', failed, 'cancelled', discard(false)],
  [
    'discards the deferral of a cancelled message silently',
    deferred(),
    'cancelled',
    discard(false),
  ],
  ['defers for the default time', deferred(), undefined, defer(900)],
  ['defers for the time that the runtime asks for', deferred(300.7), undefined, defer(300)],
  ['defers no longer than the default time', deferred(5_000), undefined, defer(900)],
  ['ignores a negative time', deferred(-1), undefined, defer(900)],
  ['ignores a time that is not a number', deferred(NaN), undefined, defer(900)],
  ['defers after its deadline', deferred(), 'timeout', defer(900)],
])('a run %s', (_, outcome, reason, conclusion) => {
  const policy = { backoffMs: [], jitter: 0, runTimeoutMs: 600, deferredTimeoutMs: 900 }
  expect(concludeRun(outcome, reason, policy)).toEqual(conclusion)
})

it.each([
  ['deferred', 'RUNTIME_TIMEOUT'],
  ['running', 'RUNTIME_LOST'],
  [undefined, 'RUNTIME_ERROR'],
] as const)('a message without attempts left, found %s, fails with %s', (lost, code) => {
  expect(exhaustedRun(lost)).toMatchObject({ kind: 'failed', retryable: false, error: { code } })
})
