import { describe, expect, it } from 'vitest'
import { agentEvent, decideRestartAt, isAgentName, type Agent, type AgentState } from './agent.js'

const agentIn = (state: AgentState): Agent => ({
  ...{ id: 'a', projectId: 'p', name: 'n', defaultExecutionPrincipal: { type: 'service' }, runtime: { kind: 'function', options: {} } },
  ...{ desiredState: 'running', state, concurrency: 1, maxAttempts: 1, maxQueued: 1, createdAt: 0, updatedAt: 0 },
})

describe("an agent's name", () => {
  it.each(['a', 'echo', 'my-agent-2', 'a'.repeat(63)])('may be %s', (name) => expect(isAgentName(name)).toBe(true))
  it.each(['', 'A', '-a', 'a-', 'a b', 'a/b', 'a'.repeat(64), '018f6b1e-0000-7000-8000-000000000000'])('may not be %j', (name) =>
    expect(isAgentName(name)).toBe(false),
  )
})

describe("what receivers hear of an agent's state", () => {
  it('that it started', () => {
    expect(agentEvent(agentIn({ kind: 'starting' }), { kind: 'running', startedAt: 5 }, 5)).toEqual({
      event: 'agent.started',
      data: { agentId: 'a', runtime: 'function', startedAt: '1970-01-01T00:00:00.005Z' },
    })
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
    const failed: AgentState = { kind: 'error', lastError: error, retryAt: 9 }
    expect(agentEvent(agentIn({ kind: 'running', startedAt: 1 }), failed, 5)).toEqual({
      event: 'agent.error',
      data: { agentId: 'a', error },
    })
  })
})

it('is started again later after each failure, and at least once a minute', () => {
  expect([1, 2, 3, 4, 5, 99].map((failures) => decideRestartAt(failures, 0))).toEqual([1_000, 5_000, 30_000, 60_000, 60_000, 60_000])
})
