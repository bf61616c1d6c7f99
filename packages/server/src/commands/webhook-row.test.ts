import type { Webhook } from '@org/agent-messaging-core'
import { expect, it } from 'vitest'
import { webhookRow } from './webhook-row.js'

const NOW = Date.parse('2030-01-01T12:00:00Z')
const closed = { kind: 'closed' } as const
const open = { kind: 'open', until: NOW + 1_000, trips: 1 } as const
const failing = { consecutiveFailures: 3, failingSince: NOW - 60_000 }

const webhook = (health: Partial<Webhook['health']>, changes: Partial<Webhook> = {}): Webhook => ({
  id: 'id',
  projectId: 'project',
  secret: 'sealed' as Webhook['secret'],
  url: 'https://a.example',
  events: ['*'],
  disableOnGone: false,
  ordering: 'none',
  isPaused: false,
  status: { kind: 'enabled' },
  health: { consecutiveFailures: 0, circuit: closed, ...health },
  createdAt: NOW,
  updatedAt: NOW,
  ...changes,
})

it.each([
  [{}, 'untried'],
  [{ lastSuccessAt: NOW }, 'healthy'],
  [{ consecutiveFailures: 1 }, '1 failure'],
  [failing, '3 failures since 2030-01-01T11:59:00.000Z'],
  [{ ...failing, circuit: open }, '3 failures since 2030-01-01T11:59:00.000Z, waiting'],
])('the health %j is shown as %j', (health, text) => {
  expect(webhookRow(webhook(health), NOW)['health']).toBe(text)
})

it.each([
  [{}, 'enabled'],
  [{ isPaused: true }, 'paused'],
  [{ status: { kind: 'disabled', reason: 'gone', since: NOW } }, 'disabled (gone)'],
] as [Partial<Webhook>, string][])('the state %j is shown as %j', (changes, text) => {
  expect(webhookRow(webhook({}, changes), NOW)['state']).toBe(text)
})
