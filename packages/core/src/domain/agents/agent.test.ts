import { describe, expect, it } from 'vitest'
import {
  agentEvent,
  comesBackInMs,
  decideAfterFailure,
  decideMaxQueued,
  isAgentName,
  mayChangeRuntime,
  onBusyOf,
  type Agent,
  type AgentState,
} from './agent.js'

const agentIn = (state: AgentState): Agent => ({
  ...{
    id: 'a',
    projectId: 'p',
    name: 'n',
    defaultExecutionPrincipal: { type: 'service' },
    runtime: { kind: 'function', options: {} },
  },
  ...{
    desiredState: 'running',
    state,
    concurrency: 1,
    maxAttempts: 1,
    maxQueued: 1,
    createdAt: 0,
    updatedAt: 0,
  },
})

describe("an agent's name", () => {
  it.each(['a', 'echo', 'my-agent-2', 'a'.repeat(63)])('can be %s', (name) =>
    expect(isAgentName(name)).toBe(true),
  )
  it.each([
    '',
    'A',
    '-a',
    'a-',
    'a b',
    'a/b',
    'a'.repeat(64),
    '018f6b1e-0000-7000-8000-000000000000',
  ])('cannot be %j', (name) => expect(isAgentName(name)).toBe(false))
})

describe("the events of an agent's state", () => {
  it('that it started', () => {
    expect(agentEvent(agentIn({ kind: 'starting' }), { kind: 'running', startedAt: 5 }, 5)).toEqual(
      {
        event: 'agent.started',
        data: { agentId: 'a', runtime: 'function', startedAt: '1970-01-01T00:00:00.005Z' },
      },
    )
  })
  it('that it stopped, if it ran', () => {
    expect(agentEvent(agentIn({ kind: 'stopping' }), { kind: 'stopped' }, 5)).toEqual({
      event: 'agent.stopped',
      data: { agentId: 'a', runtime: 'function', stoppedAt: '1970-01-01T00:00:00.005Z' },
    })
    expect(agentEvent(agentIn({ kind: 'starting' }), { kind: 'stopped' }, 5)).toBeUndefined()
  })
  it('that it failed', () => {
    const error = { code: 'RUNTIME_EXITED', message: 'gone' } as const
    const failed: AgentState = { kind: 'error', lastError: error, failures: 1, retryAt: 9 }
    expect(agentEvent(agentIn({ kind: 'running', startedAt: 1 }), failed, 5)).toEqual({
      event: 'agent.error',
      data: { agentId: 'a', error },
    })
    expect(agentEvent(agentIn(failed), { ...failed, failures: 2 }, 5)).toBeUndefined()
  })
})

describe('an agent that fails', () => {
  const exited = { code: 'RUNTIME_EXITED', message: 'gone' } as const
  const unhealthy = { code: 'RUNTIME_UNHEALTHY', message: 'no answer' } as const

  it('is started again later after each failure, and at least once a minute', () => {
    const delays = [1, 2, 3, 4, 5, 9].map(
      (failures) => decideAfterFailure(failures, exited, 0).retryAt,
    )
    expect(delays).toEqual([1_000, 5_000, 30_000, 60_000, 60_000, 60_000])
    expect(decideAfterFailure(2, exited, 7)).toEqual({
      kind: 'error',
      lastError: exited,
      failures: 2,
      retryAt: 5_007,
    })
  })
  it('is left alone after ten failures in a row', () => {
    const message = 'gone; stopped after 10 failures in a row: start it to try again'
    expect(decideAfterFailure(10, exited, 0)).toEqual({
      kind: 'error',
      lastError: { code: 'RUNTIME_EXITED', message },
      failures: 10,
    })
  })
  it('is tried for ever when it is only not well', () => {
    expect(decideAfterFailure(99, unhealthy, 0)).toEqual({
      kind: 'error',
      lastError: unhealthy,
      failures: 99,
      retryAt: 60_000,
    })
  })
  it('says when it is worth while to ask again', () => {
    for (const kind of ['stopped', 'starting', 'stopping'] as const)
      expect(comesBackInMs(agentIn({ kind }), 0)).toBe(1_000)
    expect(comesBackInMs(agentIn(decideAfterFailure(3, exited, 500)), 1_500)).toBe(29_000)
    expect(comesBackInMs(agentIn(decideAfterFailure(3, exited, 0)), 90_000)).toBe(1_000)
  })
  it('cannot say so when only a person can tell', () => {
    expect(comesBackInMs(agentIn(decideAfterFailure(10, exited, 0)), 0)).toBeUndefined()
    expect(comesBackInMs(agentIn({ kind: 'running', startedAt: 0 }), 0)).toBeUndefined()
    for (const kind of ['stopped', 'starting', 'stopping'] as const)
      expect(comesBackInMs({ ...agentIn({ kind }), desiredState: 'stopped' }, 0)).toBeUndefined()
  })
})

describe('a busy session', () => {
  it('refuses a message when none can wait', () => {
    expect([0, 1].map((maxQueued) => onBusyOf({ maxQueued }))).toEqual(['reject', 'queue'])
  })
  it('has as much room as it is told, in a number or a word', () => {
    expect([0, 7].map((maxQueued) => decideMaxQueued(undefined, maxQueued))).toEqual([0, 7])
    expect([0, 7].map((maxQueued) => decideMaxQueued('reject', maxQueued))).toEqual([0, 0])
    expect([0, 7].map((maxQueued) => decideMaxQueued('queue', maxQueued))).toEqual([100, 7])
  })
})

it('can get another runtime while its desired and observed state are stopped', () => {
  const stopped = { kind: 'stopped' } as const
  expect(mayChangeRuntime({ desiredState: 'stopped', state: stopped })).toBe(true)
  expect(mayChangeRuntime({ desiredState: 'running', state: stopped })).toBe(false)
  expect(mayChangeRuntime({ desiredState: 'stopped', state: { kind: 'stopping' } })).toBe(false)
})
