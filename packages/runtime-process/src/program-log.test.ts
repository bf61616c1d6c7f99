import { fakeClock } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { limitedLog } from './program-log.js'

it('limitedLog logs a hundred short lines in ten seconds and counts the others', async () => {
  const clock = fakeClock()
  const entries: [object, string][] = []
  const log = limitedLog((details, text) => entries.push([details, text]), { agentId: 'a1' }, clock)
  log({ line: 'x'.repeat(2_000) }, 'program.stderr')
  for (let n = 1; n < 150; n++) log({ line: `${n}` }, 'program.stderr')
  expect(entries).toHaveLength(100)
  expect(entries[0]).toEqual([{ agentId: 'a1', line: 'x'.repeat(1_000) }, 'program.stderr'])
  await clock.advance(10_000)
  log({ line: 'calm', why: 'not a JSON object' }, 'program.stray_line')
  log({ line: 'again' }, 'program.stderr')
  expect(entries.slice(100)).toEqual([
    [{ agentId: 'a1', lines: 50 }, 'program.lines_left_out'],
    [{ agentId: 'a1', line: 'calm', why: 'not a JSON object' }, 'program.stray_line'],
    [{ agentId: 'a1', line: 'again' }, 'program.stderr'],
  ])
})
