import { webhookSettings, type WebhookFilter } from '@org/agent-messaging-core/host'
import { expect, it } from 'vitest'
import { settingsIn, textsOf } from '../parts/fields.js'
import { filterOf, filterTexts, NO_FILTER } from './webhook-form.js'

const CLEARED = {
  description: null,
  disableOnGone: false,
  ordering: 'none',
  payload: 'full',
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
    { disableOnGone: true, ordering: 'session', payload: 'parts' },
    { disableOnGone: 'yes', ordering: 'session', payload: 'parts' },
  ],
  [{ requestsPerSecond: 0.5 }, { requestsPerSecond: '0.5' }],
  [{ description: 'mine' }, { description: 'mine' }],
])('the form of a webhook shows %j as %j, and saves it unchanged', (given, shown) => {
  const texts = textsOf(webhookSettings, given)
  expect(texts).toMatchObject(shown)
  expect(settingsIn(webhookSettings, texts)).toEqual({ ...CLEARED, ...given })
})

const AGENT_ID = '01a20782-5952-72eb-af3c-b6eec6425110'

it.each<WebhookFilter>([
  { agentId: AGENT_ID },
  { sessionIdPrefix: ' order-' },
  {
    metadata: [
      { path: 'customer.plan', equals: 'pro' },
      { path: 'a', equals: 3 },
      { path: 'b', equals: null },
      { path: 'c', equals: 'x = "y"' },
      { path: 'd', equals: '3' },
      { path: 'e', exists: true },
      { path: 'f', exists: false },
      { path: 'with space', equals: true },
      { path: 'a=b', exists: true },
      { path: '{', equals: '' },
    ],
  },
  {
    data: [
      { path: 'id', prefix: 'DE-' },
      { path: 'id', prefix: '3' },
      { path: 'id', prefix: 'a "b" = c' },
      { path: 'a', min: 1.5 },
      { path: 'a', max: -1 },
      { path: 'a', min: 0, max: 1e21 },
      { path: 'a b', min: 0 },
      { path: 'c', equals: 'from 1 to 2' },
      { path: 'd', equals: 'x exists' },
    ],
  },
])('the form shows the filter %j and reads the same filter', (filter) => {
  const texts = filterTexts(filter, filter.agentId ?? '')
  expect(filterOf(texts, filter.agentId)).toEqual(filter)
})

it('empty texts are no filter', () => {
  expect(filterOf({ ...NO_FILTER, filterMetadata: ' \n' }, undefined)).toBeNull()
})

it('a value without quotation marks is a text, unless it is JSON', () => {
  const filterMetadata = 'plan = pro\nsize=3\nisNew = true\nurl = a=b'
  expect(filterOf({ ...NO_FILTER, filterMetadata }, undefined)?.metadata).toEqual([
    { path: 'plan', equals: 'pro' },
    { path: 'size', equals: 3 },
    { path: 'isNew', equals: true },
    { path: 'url', equals: 'a=b' },
  ])
})

it('a prefix needs no quotation marks', () => {
  const filterData = 'id starts with DE-\nid starts with 3\nname starts with "a b"\nb = a to c'
  expect(filterOf({ ...NO_FILTER, filterData }, undefined)?.data).toEqual([
    { path: 'id', prefix: 'DE-' },
    { path: 'id', prefix: '3' },
    { path: 'name', prefix: 'a b' },
    { path: 'b', equals: 'a to c' },
  ])
})

it('a line without a test stays, so that the service can refuse it', () => {
  expect(filterOf({ ...NO_FILTER, filterMetadata: 'plan' }, undefined)?.metadata).toEqual([
    { path: 'plan' },
  ])
})
