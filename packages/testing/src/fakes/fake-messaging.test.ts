import { expect, it, onTestFinished } from 'vitest'
import { fakeMessaging, type FakeMessagingOptions } from './fake-messaging.js'

async function open(options: FakeMessagingOptions) {
  const messaging = await fakeMessaging(options)
  onTestFinished(() => messaging.stop())
  await messaging.webhooks.create({ url: 'https://crm.example/hook', events: ['*'] })
  const bodies = () => messaging.requests.map(({ body }) => JSON.parse(body))
  return { ...messaging, bodies }
}

const hello = { agent: 'support', sessionId: 'ticket-7', message: 'My parcel is lost', waitMs: 0 }
const stateOf = async (
  { messages }: Pick<Awaited<ReturnType<typeof open>>, 'messages'>,
  messageId: string,
) => messages.get({ agent: 'support', messageId })

it('makes the delivery after an answer of the test', async () => {
  const messaging = await open({ agents: ['support'] })
  const { answer, bodies, clock, messages, requests } = messaging
  const { messageId: id } = await messages.send(hello)
  await clock.advance(60_000)
  expect(await stateOf(messaging, id)).toMatchObject({ state: 'running' })
  await answer(id, 'It is at your neighbour')
  await clock.advance(0)
  expect(bodies()).toMatchObject([
    { event: 'message.responded', data: { messageId: id, response: 'It is at your neighbour' } },
  ])
  expect(requests[0]).toMatchObject({
    url: 'https://crm.example/hook',
    headers: { 'X-Service-Event': 'message.responded' },
  })
})

it.each([new Error('no stock'), 'no stock'])('fails a message with %s', async (error) => {
  const messaging = await open({ agents: ['support'] })
  const { bodies, clock, fail, messages } = messaging
  const { messageId: id } = await messages.send(hello)
  await fail(id, error)
  await clock.advance(0)
  const failure = { code: 'RUNTIME_ERROR', message: 'no stock' }
  expect(await stateOf(messaging, id)).toMatchObject({ state: 'failed', error: failure })
  expect(bodies().map(({ event }) => event)).toContain('message.failed')
})

it('lets functions answer, and tells listeners', async () => {
  const { clock, messages, on } = await open({
    agents: { support: ({ message }) => message.toUpperCase() },
  })
  const heard: string[] = []
  on('message.responded', ({ data }) => void heard.push(data.response), { name: 'mail' })
  await messages.send(hello)
  await clock.advance(0)
  expect(heard).toEqual(['MY PARCEL IS LOST'])
})

it('stops while a run waits', async () => {
  const { clock, messages, stop } = await open({ agents: ['support'] })
  await messages.send(hello)
  await clock.advance(0)
  await stop()
  await expect(messages.send(hello)).rejects.toMatchObject({ kind: 'stopped' })
})

it('refuses an unknown option with the nearest name', async () => {
  await expect(fakeMessaging({ agent: ['support'] } as never)).rejects.toThrow(
    'did you mean agents?',
  )
})
