import { describe, expect, it } from 'vitest'
import type { MessageState, RunningMessage } from './message.js'
import { interruptedRun, pastRun, runsOf, type PastRun } from './past-run.js'
import { failedRun, type EndedRun } from './run.js'

const running = { attempt: 2, state: { kind: 'running', startedAt: 5 } } as RunningMessage
const deferred = { attempt: 2, state: { kind: 'deferred', startedAt: 5, deadlineAt: 9 } } as const
const ended = { attempt: 2, startedAt: 5, endedAt: 9 }
const usage = { inputTokens: 1 }

describe('pastRun', () => {
  it.each([
    ['RUNTIME_ERROR', 'failed'],
    ['RUNTIME_EXITED', 'failed'],
    ['RESPONSE_INVALID', 'failed'],
    ['RUNTIME_TIMEOUT', 'timed_out'],
    ['RUNTIME_LOST', 'lost'],
  ] as const)('gives a run that failed with %s the reason %s', (code, reason) => {
    const run = failedRun(code, 'why')
    expect(pastRun(running, run, 9)).toEqual({ ...ended, reason, error: { code, message: 'why' } })
    expect(pastRun(running, { ...run, usage }, 9)).toMatchObject({ reason, usage })
  })
  it('has the tokens of a run that asks', () => {
    const asking: EndedRun = { kind: 'input_required', question: 'Which?', usage }
    expect(pastRun(running, asking, 9)).toEqual({ ...ended, reason: 'input_required', usage })
  })
  it('is undefined for an answer', () => {
    expect(pastRun(running, { kind: 'answered', response: 'yes' }, 9)).toBeUndefined()
  })
})

describe('interruptedRun', () => {
  it('is lost while it runs, timed out while it is deferred, and cancelled by a caller', () => {
    expect(interruptedRun(running, 9)).toEqual({ ...ended, reason: 'lost' })
    expect(interruptedRun(deferred, 9)).toEqual({ ...ended, reason: 'timed_out' })
    expect(interruptedRun(deferred, 9, 'cancelled')).toEqual({ ...ended, reason: 'cancelled' })
  })
  it('is undefined for a message that waits', () => {
    const queued = { attempt: 1, state: { kind: 'queued', notBefore: 0 } } as const
    expect(interruptedRun(queued, 9)).toBeUndefined()
  })
})

describe('runsOf', () => {
  const past: readonly PastRun[] = [{ attempt: 1, startedAt: 1, endedAt: 2, reason: 'failed' }]
  const of = (state: MessageState) => runsOf({ attempt: 2, state }, past)

  it('ends with the run that goes on', () => {
    for (const { state } of [running, deferred])
      expect(of(state)).toEqual([...past, { attempt: 2, startedAt: 5 }])
  })
  it('ends with the run that answered, and its tokens', () => {
    const state = { kind: 'responded', response: 'yes', respondedAt: 9, responseTimeMs: 4 } as const
    expect(of(state)).toEqual([...past, { ...ended, reason: 'answered' }])
    expect(of({ ...state, usage })).toEqual([...past, { ...ended, reason: 'answered', usage }])
  })
  it('has only the past runs otherwise', () => {
    expect(of({ kind: 'queued', notBefore: 0 })).toEqual(past)
  })
})
