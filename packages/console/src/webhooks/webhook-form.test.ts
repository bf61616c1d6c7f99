import { webhookSettings } from '@org/agent-messaging-core/runtime'
import { expect, it } from 'vitest'
import { settingsIn, textsOf } from '../parts/fields.js'

const CLEARED = {
  description: null,
  disableOnGone: false,
  ordering: 'none',
  maxConcurrency: null,
  requestsPerSecond: null,
  timeoutMs: null,
  retrySchedule: null,
}

it.each([
  [{}, {}],
  [{ retrySchedule: [] }, { retrySchedule: 'none' }],
  [{ retrySchedule: [5_000, 60_000] }, { retrySchedule: '5000, 60000' }],
  [
    { disableOnGone: true, ordering: 'session' },
    { disableOnGone: 'yes', ordering: 'session' },
  ],
  [{ requestsPerSecond: 0.5 }, { requestsPerSecond: '0.5' }],
  [{ description: 'mine' }, { description: 'mine' }],
])('the form of a webhook shows %j as %j, and saves it unchanged', (given, shown) => {
  const texts = textsOf(webhookSettings, given)
  expect(texts).toMatchObject(shown)
  expect(settingsIn(webhookSettings, texts)).toEqual({ ...CLEARED, ...given })
})
