import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../values/json.js'
import {
  claimedAttempt,
  decideAfterRun,
  decideCancellation,
  errorOf,
  isFinal,
  isRetryable,
  statusOf,
  type MessageState,
  type RunningMessage,
} from './message.js'
import { failedRun } from './run.js'

const policy = {
  backoffMs: [1_000, 5_000],
  jitter: 0.2,
  runTimeoutMs: 1,
  deferredTimeoutMs: 1,
  maxAttempts: 4,
}
const running = (attempt: number, metadata?: JsonObject): RunningMessage => ({
  ...{
    id: 'm',
    projectId: 'p',
    agentId: 'a',
    sessionId: 's',
    message: 'hi',
    attempt,
    createdAt: 0,
  },
  executionPrincipal: { type: 'end_user', endUserId: 'u' },
  state: { kind: 'running', startedAt: 1_000 },
  ...(metadata && { metadata }),
})

const OF_MESSAGE = {
  messageId: 'm',
  sessionId: 's',
  executionPrincipal: { type: 'end_user', endUserId: 'u' },
}

describe('the state of a message after a run', () => {
  it('is responded when answered, and tells the receivers with metadata, channel and correlationId', () => {
    const metadata = { source: 'x', channel: 'C1', correlationId: { any: ['json'] } }
    const {
      state,
      events: [event],
    } = decideAfterRun(
      running(1, metadata),
      { kind: 'answered', response: 'hello' },
      policy,
      1_250,
      0,
    )
    expect(state).toEqual({
      kind: 'responded',
      response: 'hello',
      respondedAt: 1_250,
      responseTimeMs: 250,
    })
    expect(event).toEqual({
      event: 'message.responded',
      data: {
        ...{ messageId: 'm', agentId: 'a', sessionId: 's', response: 'hello', responseTimeMs: 250 },
        executionPrincipal: { type: 'end_user', endUserId: 'u' },
        ...{ metadata, channel: 'C1', correlationId: { any: ['json'] } },
      },
    })
  })
  it('echoes an empty metadata, and no channel, when none was sent', () => {
    const {
      events: [event],
    } = decideAfterRun(running(1), { kind: 'answered', response: '' }, policy, 1_000, 0)
    expect(event?.data).toMatchObject({ metadata: {} })
    expect(event?.data).not.toHaveProperty('channel')
    expect(event?.data).not.toHaveProperty('correlationId')
  })
  it('echoes a channel of null, because the key was sent', () => {
    const {
      events: [event],
    } = decideAfterRun(
      running(1, { channel: null, correlationId: null }),
      failedRun('RUNTIME_ERROR', 'x'),
      policy,
      0,
      0,
    )
    expect(event?.data).toMatchObject({ channel: null, correlationId: null })
  })
  it('never has a negative response time when the clock went back', () => {
    expect(
      decideAfterRun(running(1), { kind: 'answered', response: '' }, policy, 0, 0).state,
    ).toMatchObject({ responseTimeMs: 0 })
  })
  it('is queued again after a retryable failure, later each time, without an event', () => {
    const failure = failedRun('RUNTIME_TIMEOUT', 'slow', true)
    expect(decideAfterRun(running(1), failure, policy, 0, 0)).toEqual({
      state: { kind: 'queued', notBefore: 1_000 },
      events: [],
    })
    expect(decideAfterRun(running(2), failure, policy, 0, 0.5)).toEqual({
      state: { kind: 'queued', notBefore: 5_500 },
      events: [],
    })
    expect(decideAfterRun(running(3), failure, policy, 0, 0)).toEqual({
      state: { kind: 'queued', notBefore: 5_000 },
      events: [],
    })
  })
  it('fails when no attempt is left or the failure is for good, and the receivers hear agent.error and message.failed', () => {
    const expected = {
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'boom' },
      failedAt: 7,
    }
    expect(
      decideAfterRun(running(4), failedRun('RUNTIME_ERROR', 'boom', true), policy, 7, 0).state,
    ).toEqual(expected)
    const { state, events } = decideAfterRun(
      running(1, { channel: 'c' }),
      failedRun('RUNTIME_ERROR', 'boom'),
      policy,
      7,
      0,
    )
    expect(state).toEqual(expected)
    const data = {
      ...{ agentId: 'a', error: expected.error, metadata: { channel: 'c' }, channel: 'c' },
      ...OF_MESSAGE,
    }
    expect(events).toEqual([
      { event: 'agent.error', data },
      { event: 'message.failed', data: { ...data, failedAt: '1970-01-01T00:00:00.007Z' } },
    ])
  })
  it('is not queued again before the agent wants to be asked again, within an hour', () => {
    const busy = {
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'busy' },
      retryable: true,
    } as const
    const wantedIn = (retryInMs: number) =>
      decideAfterRun(running(1), { ...busy, retryInMs }, policy, 7, 0.5)
    expect(wantedIn(20_000).state).toEqual({ kind: 'queued', notBefore: 22_007 })
    expect(wantedIn(86_400_000).state).toEqual({ kind: 'queued', notBefore: 3_960_007 })
    for (const useless of [500, 0, -1, NaN])
      expect(wantedIn(useless).state).toEqual({ kind: 'queued', notBefore: 1_107 })
  })
  it('retries at once when no backoff is configured', () => {
    const { state } = decideAfterRun(
      running(1),
      failedRun('RUNTIME_LOST', 'x', true),
      { ...policy, backoffMs: [] },
      9,
      1,
    )
    expect(state).toEqual({ kind: 'queued', notBefore: 9 })
  })
})

it('knows two words on the wire and which states are final', () => {
  const states: MessageState[] = [
    { kind: 'queued', notBefore: 0 },
    { kind: 'running', startedAt: 0 },
    { kind: 'deferred', startedAt: 0, deadlineAt: 0 },
    { kind: 'failed', error: { code: 'RUNTIME_ERROR', message: '' }, failedAt: 0 },
    { kind: 'responded', response: '', respondedAt: 0, responseTimeMs: 0 },
    { kind: 'cancelled', cancelledAt: 0 },
  ]
  expect(states.map(statusOf)).toEqual([
    'pending',
    'pending',
    'pending',
    'pending',
    'responded',
    'pending',
  ])
  expect(states.map(isFinal)).toEqual([false, false, false, true, true, true])
  expect(states.map(isRetryable)).toEqual([false, false, false, true, false, true])
})

it('is cancelled with agent.error and message.cancelled, and a final message without an answer says why', () => {
  const { state, events } = decideCancellation(running(1, { channel: 'c' }), 7)
  expect(state).toEqual({ kind: 'cancelled', cancelledAt: 7 })
  const error = { code: 'CANCELLED', message: 'the message was cancelled' }
  const data = { agentId: 'a', ...OF_MESSAGE, metadata: { channel: 'c' }, channel: 'c' }
  expect(events).toEqual([
    { event: 'agent.error', data: { ...data, error } },
    { event: 'message.cancelled', data: { ...data, cancelledAt: '1970-01-01T00:00:00.007Z' } },
  ])
  expect(errorOf(state)).toEqual(error)
  expect(
    errorOf({ kind: 'failed', error: { code: 'RUNTIME_LOST', message: 'gone' }, failedAt: 0 }),
  ).toMatchObject({ code: 'RUNTIME_LOST' })
  expect(errorOf({ kind: 'queued', notBefore: 0 })).toBeUndefined()
})

it.each([
  [0, 1],
  [1, 2],
  [2, 2],
  [3, 3],
])('numbers the claim after %i of at most two attempts as attempt %i', (attempt, claimed) => {
  expect(claimedAttempt(attempt, 2)).toBe(claimed)
})
