import type { Webhook } from '@org/agent-messaging-client'
import { expect, it } from 'vitest'
import { webhookRow } from './webhook-row.js'

const NOW = '2030-01-01T12:00:00.000Z'
const failed = { deliveryId: 'd', attemptNumber: 2, startedAt: NOW }
const failing = { consecutiveFailures: 3, failingSince: NOW }

const webhook = (changes: Partial<Webhook>): Webhook => ({
  id: 'id',
  url: 'https://a.example',
  events: ['*'],
  disableOnGone: false,
  ordering: 'none',
  payload: 'full',
  paused: false,
  enabled: true,
  consecutiveFailures: 0,
  circuit: 'closed',
  createdAt: NOW,
  updatedAt: NOW,
  ...changes,
})

it.each<[Partial<Webhook>, string]>([
  [{}, 'untried'],
  [{ lastSuccessAt: NOW }, 'healthy'],
  [{ consecutiveFailures: 1 }, '1 failure'],
  [failing, `3 failures since ${NOW}`],
  [{ ...failing, circuit: 'open' }, `3 failures since ${NOW}, waiting`],
])('the health of %j is shown as %j', (changes, text) => {
  expect(webhookRow(webhook(changes))['health']).toBe(text)
})

it.each<[Partial<Webhook>, string]>([
  [{}, 'enabled'],
  [{ paused: true }, 'paused'],
  [{ enabled: false, disabledReason: 'gone' }, 'disabled (gone)'],
])('the state of %j is shown as %j', (changes, text) => {
  expect(webhookRow(webhook(changes))['state']).toBe(text)
})

it.each<[Webhook['lastFailure'], string]>([
  [undefined, 'none'],
  [{ ...failed, outcome: 'refused', statusCode: 503 }, `503 at ${NOW}, delivery d`],
  [{ ...failed, outcome: 'unreachable', error: 'timeout' }, `timeout at ${NOW}, delivery d`],
])('the last failure %j is shown as %j', (lastFailure, text) => {
  expect(webhookRow(webhook(lastFailure ? { lastFailure } : {}))['lastFailure']).toBe(text)
})
