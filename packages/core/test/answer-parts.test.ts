import { expect, it, vi } from 'vitest'
import { refused } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const CALL = { toolCallId: 'c', toolName: 'search' } as const
const TOOL = { type: 'tool', ...CALL, state: 'input-available', input: { q: '</script>' } }

/** A service whose agent emits parts, with a webhook that asks for them and one that does not. */
async function partsScene(output: string) {
  const retry = { delaysMs: [60_000], jitter: 0, maxRetryAfterMs: 86_400_000 }
  const all = await scene({
    policy: { retry },
    handler: async ({ emit }) => {
      emit({ type: 'tool-input-available', ...CALL, input: { q: '</script>' } })
      for (let n = 0; n < 10; n++) emit({ type: 'data', name: 'n', data: output })
      emit('done')
      return { kind: 'answered', response: 'done' }
    },
  })
  const { service, project, sender } = all
  const projectId = project.id
  const create = async (url: string, payload: 'full' | 'parts') => {
    const events = ['message.responded']
    return (await service.webhooks.create({ projectId, url, events, payload })).webhook.id
  }
  const webhookId = await create('https://parts.example/', 'parts')
  await create('https://full.example/', 'full')
  const sentTo = (url: string) =>
    sender.requests.filter((request) => request.url === url).map(({ body }) => body)
  const dataSent = (url: string) =>
    (JSON.parse(sentTo(url)[0] ?? '') as { readonly data: object }).data
  return { ...all, projectId, webhookId, sentTo, dataSent }
}

it('G4: each attempt of a delivery with parts sends the bytes of its commit', async () => {
  const { service, sender, clock, projectId, webhookId, send, sentTo, dataSent } =
    await partsScene('a')
  sender.script(refused(500), refused(500))
  const { message } = await send()
  const parts = [
    TOOL,
    ...Array.from({ length: 10 }, () => ({ type: 'data', name: 'n', data: 'a' })),
    { type: 'text', text: 'done' },
  ]
  await clock.advance(0)
  expect(dataSent('https://parts.example/')).toMatchObject({ response: 'done', parts })
  expect(dataSent('https://full.example/')).not.toHaveProperty('parts')
  await service.webhooks.update({ projectId, webhookId, change: { payload: 'full' } })
  await clock.advance(60_000)
  const filter = { projectId, webhookId, messageId: message.id, limit: 10 }
  const [{ id: deliveryId } = { id: '' }] = (await service.deliveries.list(filter)).data
  await service.deliveries.redeliver({ projectId, deliveryId })
  await clock.advance(0)
  const [body, ...later] = sentTo('https://parts.example/')
  expect(later).toEqual([body, body])
  expect((await service.deliveries.get({ projectId, deliveryId })).body).toBe(body)
})

it('a delivery without room for the parts is sent without them', async () => {
  const { clock, send, dataSent, service, ref } = await partsScene('a'.repeat(60_000))
  const { message } = await send()
  await clock.advance(0)
  expect(dataSent('https://parts.example/')).toMatchObject({
    response: 'done',
    partsTruncated: true,
  })
  expect(dataSent('https://parts.example/')).not.toHaveProperty('parts')
  const stored = await service.messages.get({ ...ref, messageId: message.id })
  expect(stored.parts).toMatchObject({ isTruncated: false, parts: { length: 12 } })
})

it('the log of events has the parts for readers that ask, also of long answers', async () => {
  const { clock, send, service, projectId } = await partsScene('a'.repeat(60_000))
  for (let n = 0; n < 9; n++) await send()
  await clock.advance(0)
  type Page = Awaited<ReturnType<typeof service.events.read>>
  const partsIn = ({ data }: Page) =>
    data
      .filter(({ name }) => name === 'message.responded')
      .map(({ body }) => (JSON.parse(body) as { data: { parts?: object[] } }).data.parts?.length)
  expect(partsIn(await service.events.read({ projectId }))).toEqual(Array(9).fill(undefined))
  // A page ends where its text is long enough.
  const first = await service.events.read({ projectId, parts: true })
  const rest = await service.events.read({ projectId, parts: true, after: first.nextCursor })
  expect(partsIn(first).length).toBeLessThan(9)
  expect([...partsIn(first), ...partsIn(rest)]).toEqual(Array(9).fill(12))
})

it('lists, searches and histories read no parts', async () => {
  const { clock, send, service, storage, ref } = await partsScene('a')
  const { message } = await send()
  await send()
  await clock.advance(0)
  const read = vi.spyOn(storage.messages, 'parts')
  const { projectId } = ref
  const lists = [
    await service.messages.list(ref),
    await service.messages.list({ ...ref, sessionId: 's', order: 'asc' }),
    await service.messages.search({ projectId, messageId: message.id }),
    await service.messages.search({ projectId, text: 'done' }),
  ]
  for (const { data } of lists) {
    expect(data.length).toBeGreaterThan(0)
    expect(JSON.stringify(data)).not.toContain('"parts"')
  }
  await service.messages.story({ projectId, messageId: message.id })
  const history = await service.messages.history({
    ...ref,
    messageId: message.id,
    maxTurns: 9,
    maxLength: 999,
  })
  expect(history.length).toBeGreaterThan(0)
  expect(read).not.toHaveBeenCalled()
})
