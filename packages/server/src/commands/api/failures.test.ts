import type { Failure } from '@org/agent-messaging-client'
import { expect, it } from 'vitest'
import { failuresText } from './failures.js'

const at = '2030-01-31T14:45:00.000Z'
const agent: Failure = {
  subject: 'agent',
  id: 'a',
  name: 'billing',
  isFailing: true,
  since: at,
  countedFrom: at,
  failed: 3,
  ended: 4,
  recent: 1,
  reasons: [
    { reason: 'RUNTIME_ERROR', count: 2 },
    { reason: 'RUNTIME_TIMEOUT', count: 1 },
  ],
  last: { reason: 'RUNTIME_ERROR', text: 'the ledger is closed' },
}
const linesOf = (failures: readonly Failure[]) =>
  failuresText({ from: at, recentFrom: at, failures })
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' '))

it('the failures have a line each, and then the commands that repair them', () => {
  const { since: _, last: __, ...others } = agent
  const webhook: Failure = { ...others, subject: 'webhook', id: 'w', isFailing: false, reasons: [] }
  expect(linesOf([agent, webhook])).toEqual([
    'FAILURE STATE SINCE FAILED RECENT REASONS LAST',
    `agent billing failing ${at} 3 of 4 1 2 RUNTIME_ERROR, 1 RUNTIME_TIMEOUT RUNTIME_ERROR the ledger is closed`,
    'webhook billing recovered - 3 of 4 1 - -',
    '',
    'After the repair:',
    ' agent-messaging messages retry-failed billing --wait',
    ' agent-messaging deliveries recover w --status failed --wait',
  ])
})

it('without failures, the text says so', () => {
  expect(linesOf([])).toEqual([`Nothing failed since ${at}.`])
})
