import type { Fact } from '@org/agent-messaging-core/runtime'
import { describe, expect, it, vi } from 'vitest'
import { logTelemetry, plainLogger, type Logger } from './logging.js'

function logged(fact: Fact): unknown[] {
  const lines: unknown[] = []
  const at = (level: string) => (details: unknown, text: unknown) =>
    void lines.push([level, details, text])
  const logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  } as unknown as Logger
  logTelemetry(logger).record(fact)
  return lines
}

describe('the telemetry log', () => {
  it.each<['info' | 'warn' | 'error', Fact]>([
    ['info', { name: 'message.accepted', attached: false }],
    ['info', { name: 'run.finished', state: 'responded' }],
    ['warn', { name: 'run.finished', state: 'queued', error: 'RUNTIME_LOST' }],
    ['warn', { name: 'run.refused' }],
    ['info', { name: 'delivery.attempted', outcome: 'accepted' }],
    ['warn', { name: 'delivery.attempted', outcome: 'refused', statusCode: 500 }],
    ['warn', { name: 'delivery.attempted', outcome: 'unreachable' }],
    ['warn', { name: 'delivery.refused' }],
    ['info', { name: 'agent.changed', to: 'running' }],
    ['warn', { name: 'agent.changed', to: 'error' }],
    ['info', { name: 'maintenance.done', cancelled: 1 }],
    ['warn', { name: 'work.taken_over', messages: 1, deliveries: 0, agents: 0 }],
    ['error', { name: 'store.unavailable' }],
    ['error', { name: 'worker.failed' }],
  ])('has one line of level %s for %j', (level, { name, ...details }) => {
    expect(logged({ name, ...details })).toEqual([[level, details, name]])
  })

  it('formats instants as ISO 8601 and keeps durations', () => {
    expect(
      logged({
        name: 'delivery.attempted',
        outcome: 'refused',
        nextAttemptAt: 0,
        durationMs: 5,
        state: 'pending',
      }),
    ).toEqual([
      [
        'warn',
        {
          outcome: 'refused',
          nextAttemptAt: '1970-01-01T00:00:00.000Z',
          durationMs: 5,
          state: 'pending',
        },
        'delivery.attempted',
      ],
    ])
  })
})

it('the plain logger removes control characters', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  plainLogger('warn').warn(
    { line: 'red \u001B[31m\u009B2J', err: new Error('no\u0007') },
    'program.stderr',
  )
  const lines = write.mock.calls.map(([text]) => String(text)).join('')
  write.mockRestore()
  expect(lines).toContain('line=red  [31m 2J')
  expect(lines).toMatch(/\nError: no \n/)
})
