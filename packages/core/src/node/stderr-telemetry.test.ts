import { expect, it } from 'vitest'
import { fakeClock } from '@org/agent-messaging-testing'
import { stderrTelemetry } from './stderr-telemetry.js'

function scene() {
  const clock = fakeClock()
  const lines: string[] = []
  const { record } = stderrTelemetry(clock, (line) => lines.push(line.replace(/^\S+ /, '')))
  return { clock, lines, record }
}

it('writes a line per failure and warning, and none for other facts', () => {
  const { lines, record } = scene()
  record({ name: 'message.accepted', messageId: 'm' })
  record({ name: 'run.finished', messageId: 'm', state: 'responded' })
  record({ name: 'run.finished', messageId: 'm', state: 'failed', error: 'RUNTIME_ERROR' })
  record({ name: 'delivery.attempted', deliveryId: 'd', outcome: 'refused', statusCode: 500 })
  record({ name: 'agent.settings_kept', agent: 'bot', fields: ['runtime.model'] })
  record({ name: 'work.taken_over', messages: 1, deliveries: 2, agents: 0 })
  expect(lines).toEqual([
    'agent-messaging run.finished messageId=m error=RUNTIME_ERROR state=failed\n',
    'agent-messaging delivery.attempted deliveryId=d outcome=refused statusCode=500\n',
    'agent-messaging agent.settings_kept agent=bot fields=["runtime.model"]\n',
    'agent-messaging work.taken_over messages=1 deliveries=2 agents=0\n',
  ])
})

it('leaves out details that can repeat the words of agents and receivers', () => {
  const { lines, record } = scene()
  record({ name: 'run.finished', error: 'RUNTIME_ERROR', detail: 'canary', sessionId: 'canary' })
  expect(lines).toEqual(['agent-messaging run.finished error=RUNTIME_ERROR\n'])
})

it('keeps a line one line', () => {
  const { lines, record } = scene()
  record({ name: 'store.unavailable', reason: 'a\nb' })
  record({ name: 'worker.failed', reason: 'x'.repeat(1_000) })
  expect(lines[0]).toBe('agent-messaging store.unavailable reason="a\\nb"\n')
  expect(lines[1]?.length).toBeLessThan(1_100)
})

it('writes ten lines of a kind in ten seconds, and counts the others', async () => {
  const { clock, lines, record } = scene()
  for (let n = 0; n < 15; n++) record({ name: 'run.refused', attempt: n })
  record({ name: 'delivery.refused' })
  expect(lines).toHaveLength(11)
  expect(lines[9]).toBe(
    'agent-messaging run.refused attempt=9 (more are counted, not shown, for 10 s)\n',
  )
  await clock.advance(10_000)
  record({ name: 'run.refused', attempt: 15 })
  record({ name: 'run.refused', attempt: 16 })
  expect(lines.slice(11)).toEqual([
    'agent-messaging run.refused attempt=15 (5 more since the last line)\n',
    'agent-messaging run.refused attempt=16\n',
  ])
})
