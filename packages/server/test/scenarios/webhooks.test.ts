import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openReceiver, openScene, type Receiver, type Scene } from './scene.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

let scene: Scene
const receivers: Receiver[] = []
async function receiver(answer?: Receiver['answer']): Promise<Receiver> {
  const opened = await openReceiver(scene.clock, answer)
  receivers.push(opened)
  return opened
}

beforeEach(async () => {
  scene = await openScene()
})
afterEach(async () => {
  await scene.close()
  for (const one of receivers.splice(0)) await one.close()
})

const times = async (n: number, work: () => Promise<unknown>): Promise<void> => {
  await Promise.all(Array.from({ length: n }, work))
}
const accepted = ({ hits }: Receiver) => hits.filter(({ status }) => status === 200)
const webhookOf = async ({ id }: { id: string }) =>
  (await scene.api('GET', `/v1/webhooks/${id}`)).body

describe('a receiver that gets each session in order', () => {
  const inSession = async (sessionId: string, message: string) => {
    const body = { sessionId, message }
    expect((await scene.api('POST', '/v1/agents/echo/messages', body)).status).toBe(200)
  }
  const textsOf = ({ hits }: Receiver) =>
    hits.map(({ body }) => (JSON.parse(body) as { data: { response: string } }).data.response)

  it('gets nothing new of a session during the retries of a delivery, and other sessions at once', async () => {
    const chat = await receiver(({ body }) => ({ status: body.includes('first') ? 500 : 200 }))
    await scene.webhook(chat.url, { ordering: 'session' })
    for (const text of ['first', 'second', 'third']) await inSession('a', text)
    await scene.pass(MINUTE)
    await inSession('b', 'other')
    await scene.settled(() => textsOf(chat).includes('other'))
    expect(textsOf(chat).filter((text) => text !== 'other')).not.toContain('second')
    chat.answer = 200
    await scene.pass(HOUR, 30 * SECOND)
    expect(new Set(textsOf(chat))).toEqual(new Set(['first', 'other', 'second', 'third']))
    expect(textsOf(chat).slice(-3)).toEqual(['first', 'second', 'third'])
  })

  it('gets the next delivery at once after the blocking one is skipped', async () => {
    const chat = await receiver(({ body }) => ({ status: body.includes('first') ? 500 : 200 }))
    await scene.webhook(chat.url, { ordering: 'session' })
    for (const text of ['first', 'second', 'third']) await inSession('a', text)
    await scene.settled(() => chat.hits.length === 1)
    const [third, second] = await scene.deliveries('status=pending')
    expect(third?.['blockedBy']).toBe(second?.['blockedBy'])
    await scene.api('POST', `/v1/deliveries/${String(second?.['blockedBy'])}/skip`)
    await scene.settled(() => accepted(chat).length === 2)
    expect(textsOf(chat)).toEqual(['first', 'second', 'third'])
  })
})

describe('one hanging receiver of ten', () => {
  it('does not delay the deliveries of the other nine', async () => {
    const hanging = await receiver('hang')
    const others = await Promise.all(Array.from({ length: 9 }, () => receiver()))
    await scene.webhook(hanging.url)
    for (const { url } of others) await scene.webhook(url)
    await times(40, () => scene.send())
    await scene.settled(() => others.every((other) => accepted(other).length === 40))
    expect(hanging.hits.length).toBeGreaterThan(0)
    expect(hanging.maxConcurrent).toBeLessThanOrEqual(8)
    expect(await scene.deliveries('status=delivered')).toHaveLength(100)
  })
})

describe('a storm of retries', () => {
  it('does not delay new events, even if all retries hang', async () => {
    const failing = await Promise.all(Array.from({ length: 12 }, () => receiver(500)))
    for (const { url } of failing) await scene.webhook(url)
    await times(20, () => scene.send())
    await scene.settled(() => failing.every(({ hits }) => hits.length > 0))
    for (const one of failing) one.answer = 'hang'
    const fresh = await receiver()
    const webhook = await scene.webhook(fresh.url)
    await scene.pass(10 * MINUTE, 20 * SECOND)
    await times(30, () => scene.send('fresh'))
    await scene.settled(() => accepted(fresh).length === 30)
    expect(await webhookOf(webhook)).toMatchObject({ consecutiveFailures: 0 })
  })
})

describe('a receiver that sends Retry-After', () => {
  it.each([429, 503])(
    'with status %i gets no request for 120 s, while others do',
    async (status) => {
      const busy = await receiver(() => ({ status, headers: { 'retry-after': '120' } }))
      const other = await receiver()
      const webhook = await scene.webhook(busy.url)
      await scene.webhook(other.url)
      await scene.send()
      await scene.settled(async () => (await webhookOf(webhook))['circuit'] === 'open')
      const first = busy.hits.length
      busy.answer = 200
      await times(5, () => scene.send())
      await scene.pass(115 * SECOND)
      expect(busy.hits).toHaveLength(first)
      expect(accepted(other)).toHaveLength(6)
      await scene.pass(MINUTE)
      expect(accepted(busy)).toHaveLength(6)
      expect(await webhookOf(webhook)).toMatchObject({ circuit: 'closed' })
    },
  )
})

describe('a receiver that refuses some requests', () => {
  it.each([
    ['503', 10, undefined],
    ['429 with Retry-After', 20, '120'],
  ])('with %s gets all others at once', async (status, nth, retryAfter) => {
    let requests = 0
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
    const busy = await receiver(() =>
      ++requests <= 100 && requests % nth === 0
        ? { status: Number.parseInt(status), headers }
        : { status: 200 },
    )
    const webhook = await scene.webhook(busy.url)
    await times(100, () => scene.send())
    const refusals = 100 / nth
    await scene.settled(() => accepted(busy).length === 100 - refusals)
    expect(await webhookOf(webhook)).toMatchObject({ circuit: 'closed' })
    await scene.pass(10 * SECOND)
    if (retryAfter !== undefined) expect(accepted(busy)).toHaveLength(100 - refusals)
    await scene.pass(130 * SECOND)
    expect(new Set(accepted(busy).map(({ id }) => id)).size).toBe(100)
    expect(await webhookOf(webhook)).toMatchObject({ circuit: 'closed', enabled: true })
  })
})
