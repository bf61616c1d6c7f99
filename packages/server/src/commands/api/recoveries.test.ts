import type { Client, Recovery } from '@org/agent-messaging-client'
import { expect, it } from 'vitest'
import { localTime } from '../output.js'
import { holdsOf } from './recoveries.js'

const WEBHOOKS = [
  { url: 'https://a.example/', enabled: true, paused: false, circuit: 'closed' },
  { description: 'CRM sync', url: 'https://b.example/', enabled: true, paused: true },
  { url: 'https://c.example/', enabled: true, paused: false, circuit: 'open' },
  { url: 'https://d.example/', enabled: false, disabledReason: 'gone' },
]
const filter = { status: 'failed', createdBefore: '2030-01-31T12:00:00Z' } as const

const clientOf = (webhooks: readonly object[]) =>
  ({
    webhooks: {
      list: async function* () {
        yield* webhooks
      },
      get: async () => webhooks[1] ?? Promise.reject(new Error('the webhook is gone')),
    },
  }) as unknown as Pick<Client, 'webhooks'>

it.each([
  [
    { waiting: 1, filter },
    '; CRM sync is paused; https://c.example/ is backing off; https://d.example/ is disabled (gone)',
  ],
  [{ waiting: 1, filter: { ...filter, webhookId: 'b' } }, '; CRM sync is paused'],
  [{ waiting: 0, filter }, ''],
] as const)('the progress of %j says what keeps deliveries', async (recovery, text) => {
  expect(await holdsOf(clientOf(WEBHOOKS), recovery satisfies Partial<Recovery>)).toBe(text)
})

it('the progress names three webhooks, cut and without control characters', async () => {
  const webhook = { description: `\u001B[31m${'x'.repeat(1_000)}`, enabled: true, paused: true }
  const text = await holdsOf(clientOf(Array.from({ length: 99 }, () => webhook)), {
    waiting: 1,
    filter,
  })
  expect(text).not.toContain('\u001B')
  expect(text.match(/x… is paused/g)).toHaveLength(3)
  expect(text.length).toBeLessThan(300)
})

it('the progress of a recovery goes on without its webhook', async () => {
  const recovery = { waiting: 1, filter: { ...filter, webhookId: 'b' } }
  expect(await holdsOf(clientOf([]), recovery)).toBe('')
})

it('a time has a date if it is not of today', () => {
  const now = new Date(2030, 0, 31, 16)
  const at = (day: number) => new Date(2030, 0, day, 15, 0, 2).toISOString()
  expect([localTime(at(31), now), localTime(at(30), now)]).toEqual([
    '15:00:02',
    '2030-01-30 15:00:02',
  ])
})
