import { fakeClock } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { logTelemetry, type Logger } from './logging.js'
import { OutageLog } from './outage-log.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND

function scene() {
  const clock = fakeClock(0)
  const lines: unknown[] = []
  const at = (level: string) => (details: object, text: string) =>
    void lines.push([clock.now(), level, text, details])
  const logger = { info: at('info'), warn: at('warn'), error: at('error') } as unknown as Logger
  const state = { isUp: false }
  const outages = new OutageLog(logger, logTelemetry(logger))
  outages.watch({ clock, isUp: async () => state.isUp })
  const fail = (): void => outages.record({ name: 'store.unavailable', reason: 'away' })
  /** Fails ten calls a second. */
  async function away(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      fail()
      await clock.advance(100)
    }
  }
  return { clock, lines, state, outages, fail, away }
}

const lineAt = (at: number, level: string, text: string, details: object) => [
  at,
  level,
  text,
  details,
]

it('an outage logs one line at its start, one a minute and one at its end', async () => {
  const { clock, lines, state, away } = scene()
  await away(2 * MINUTE + 30 * SECOND)
  state.isUp = true
  await clock.advance(5 * SECOND)
  const since = '1970-01-01T00:00:00.000Z'
  const reason = 'away'
  expect(lines).toEqual([
    lineAt(0, 'error', 'store.unavailable', { reason }),
    lineAt(MINUTE, 'error', 'store.unavailable', { reason, failures: 600, since }),
    lineAt(2 * MINUTE, 'error', 'store.unavailable', { reason, failures: 1200, since }),
    lineAt(2 * MINUTE + 32 * SECOND, 'warn', 'store.available', {
      failures: 1500,
      durationMs: 2 * MINUTE + 29_900,
    }),
  ])
})

it('an outage without failing calls ends only when the storage works again', async () => {
  const { clock, lines, state, fail } = scene()
  fail()
  await clock.advance(30 * SECOND)
  expect(lines).toHaveLength(1)
  state.isUp = true
  await clock.advance(SECOND)
  expect(lines).toHaveLength(2)
  fail()
  expect(lines).toHaveLength(3)
})

it('other facts are logged as they come, and a stopped log follows no outage', async () => {
  const { clock, lines, outages, fail } = scene()
  outages.record({ name: 'message.accepted' })
  fail()
  outages.stop()
  await clock.advance(MINUTE)
  expect(lines).toEqual([
    lineAt(0, 'info', 'message.accepted', {}),
    lineAt(0, 'error', 'store.unavailable', { reason: 'away' }),
  ])
})
