import { expect } from 'vitest'
import type { Agent, Message } from '@org/agent-messaging-core'
import type { MessageSearch } from '@org/agent-messaging-core/storage'
import { newMessage, PROJECT_ID } from '../../builders.js'
import { heldBy, MINUTE, NOW, OTHER_PROJECT_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const OF_PROJECT = { projectId: PROJECT_ID }
const LIMITS = [1, 2, 50]
/** The service searches for no longer text. */
const MOST_WANTED = 100

/** Finds all messages of a search, page by page. */
async function found(
  { messages }: UnwrappedStorage,
  search: Partial<MessageSearch>,
  limit: number,
): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null | undefined
  for (let pages = 0; cursor !== null; pages++) {
    if (pages > 50) throw new Error('the pages have no end')
    const page = { limit, ...(cursor !== undefined && { cursor }) }
    const { data, nextCursor } = await messages.search({ projectId: PROJECT_ID, ...search }, page)
    expect(data.length).toBeLessThanOrEqual(limit)
    ids.push(...data.map(({ id }) => id))
    cursor = nextCursor
  }
  return ids
}

/** Two agents get messages in turn, each one minute after the one before. */
async function sendSix(scene: Scene): Promise<{ agents: [Agent, Agent]; sent: Message[] }> {
  const agents: [Agent, Agent] = [await scene.agent(), await scene.agent()]
  const user = (endUserId: string) => ({ type: 'end_user', endUserId }) as const
  const given = [
    { sessionId: 'a', metadata: { correlationId: 'c1' } },
    { sessionId: 'b', executionPrincipal: user('u"1') },
    { sessionId: 'a', executionPrincipal: user('u"1'), metadata: { correlationId: 42 } },
    { sessionId: 'c', executionPrincipal: user('u2'), metadata: { correlationId: `${LONG}1` } },
    { sessionId: 'd', metadata: { correlationId: `${LONG}2`, other: 'correlationId' } },
    { sessionId: 'e', metadata: { other: { correlationId: 'c1' } } },
  ]
  const sent: Message[] = []
  for (const [index, overrides] of given.entries()) {
    const agent = agents[index % 2] ?? agents[0]
    sent.push(await scene.send(agent, { ...overrides, now: NOW + index * MINUTE }))
  }
  return { agents, sent }
}
const LONG = 'long '.repeat(20)

export function searchSuite(it: StorageTest): void {
  it('find messages over all agents of the project, newest first, in pages', async ({
    storage,
    scene,
  }) => {
    const { sent } = await sendSix(scene)
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    const theirs = await scene.send(other, { sessionId: 'a', metadata: { correlationId: 'c1' } })
    const ids = (...places: number[]) => places.map((place) => sent[place]?.id)
    const endUser = (endUserId: string) => ({ endUserId })
    for (const limit of LIMITS) {
      const find = (search: Partial<MessageSearch>) => found(storage, search, limit)
      expect(await find({})).toEqual(ids(5, 4, 3, 2, 1, 0))
      expect(await find({ messageId: sent[3]?.id ?? '' })).toEqual(ids(3))
      expect(await find({ messageId: theirs.id })).toEqual([])
      expect(await find({ sessionId: 'c' })).toEqual(ids(3))
      expect(await find({ sessionId: 'a' })).toEqual(ids(2, 0))
      expect(await find(endUser('u"1'))).toEqual(ids(2, 1))
      expect(await find(endUser('u'))).toEqual([])
      expect(await find({ correlationId: 'c1' })).toEqual(ids(0))
      expect(await find({ correlationId: '42' })).toEqual(ids(2))
      expect(await find({ correlationId: `${LONG}2` })).toEqual(ids(4))
      expect(await find({ correlationId: LONG })).toEqual([])
      expect(await find({ createdAfter: NOW + MINUTE })).toEqual(ids(5, 4, 3, 2, 1))
      expect(await find({ createdBefore: NOW + 2 * MINUTE })).toEqual(ids(1, 0))
      const between = { createdAfter: NOW + MINUTE, createdBefore: NOW + 4 * MINUTE }
      expect(await find(between)).toEqual(ids(3, 2, 1))
      expect(await find({ ...between, endUserId: 'u2' })).toEqual(ids(3))
      expect(await find({ sessionId: 'a', correlationId: '42' })).toEqual(ids(2))
      expect(await find({ sessionId: 'a', endUserId: 'u2' })).toEqual([])
      expect(await find({ correlationId: '42', endUserId: 'u"1' })).toEqual(ids(2))
      expect(await find({ correlationId: '42', endUserId: 'u2' })).toEqual([])
      expect(await find({ projectId: OTHER_PROJECT_ID, sessionId: 'a' })).toEqual([theirs.id])
      expect(await find({ projectId: OTHER_PROJECT_ID, endUserId: 'u2' })).toEqual([])
    }
  })

  it('find messages by state and status, and show them as get does', async ({ storage, scene }) => {
    const agents = [await scene.agent(), await scene.agent()] as const
    const queued = await scene.send(agents[0], { sessionId: 'queued' })
    const running = await scene.run(agents[1], { sessionId: 'running' })
    const responded = await scene.run(agents[0], { sessionId: 'responded' })
    await scene.answer(responded)
    const failed = await scene.run(agents[1], { sessionId: 'failed' })
    const error = { code: 'RUNTIME_ERROR', message: 'it broke' } as const
    const state = { kind: 'failed', error, failedAt: NOW } as const
    await storage.messages.recordRun({ ...heldBy(failed), state, now: NOW })
    const idOf = ({ message }: { message: Message }) => message.id
    for (const limit of LIMITS) {
      const find = (search: Partial<MessageSearch>) => found(storage, search, limit)
      expect(await find({ state: 'queued' })).toEqual([queued.id])
      expect(await find({ state: 'failed' })).toEqual([idOf(failed)])
      expect(await find({ state: 'responded' })).toEqual([idOf(responded)])
      expect(await find({ state: 'deferred' })).toEqual([])
      expect(await find({ status: 'responded' })).toEqual([idOf(responded)])
      expect(await find({ status: 'pending' })).toEqual([idOf(failed), idOf(running), queued.id])
      expect(await find({ status: 'pending', state: 'responded' })).toEqual([])
      expect(await find({ state: 'failed', sessionId: 'failed' })).toEqual([idOf(failed)])
      expect(await find({ state: 'failed', createdAfter: NOW + 1 })).toEqual([])
      expect(await find({ state: 'responded', createdAfter: NOW })).toEqual([idOf(responded)])
    }
    const { data } = await storage.messages.search({ projectId: PROJECT_ID }, { limit: 9 })
    expect(data).toHaveLength(4)
    for (const message of data) expect(await scene.reread(message)).toEqual(message)
  })

  it('find a part of a message or of its answer, with ASCII letters in either case', async ({
    storage,
    scene,
  }) => {
    const agents = [await scene.agent(), await scene.agent()] as const
    const asked = await scene.send(agents[0], { sessionId: 'a', message: '50% of Order\\_4711' })
    const answered = await scene.run(agents[1], { sessionId: 'b', message: 'Café order' })
    await scene.answer(answered)
    const late = `ANSWER TO ${answered.message.id}`
    const other = await scene.agent({ projectId: OTHER_PROJECT_ID })
    await scene.send(other, { message: 'order' })
    const both = [answered.message.id, asked.id]
    for (const limit of LIMITS) {
      const find = (search: Partial<MessageSearch>) => found(storage, search, limit)
      expect(await find({ text: 'oRDER' })).toEqual(both)
      expect(await find({ text: '0% of order\\_' })).toEqual([asked.id])
      expect(await find({ text: late })).toEqual([answered.message.id])
      expect(await find({ text: 'order%4711' })).toEqual([])
      expect(await find({ text: 'CAFé' })).toEqual([answered.message.id])
      expect(await find({ text: 'CAFÉ' })).toEqual([])
      expect(await find({ text: 'order', sessionId: 'a' })).toEqual([asked.id])
      expect(await find({ text: late, sessionId: 'a' })).toEqual([])
      expect(await find({ text: 'order', state: 'responded' })).toEqual([answered.message.id])
      expect(await find({ text: 'order', createdAfter: NOW, createdBefore: NOW + 1 })).toEqual(both)
      expect(await find({ text: 'order', messageId: asked.id })).toEqual([asked.id])
      expect(await find({ text: late, messageId: asked.id })).toEqual([])
    }
  })

  it('find messages by a part of the name of their session, and by the end of their id', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const [ticket, other] = [
      await scene.send(agent, { sessionId: 'Ticket/4711-Größe' }),
      await scene.send(agent, { sessionId: 'other', id: 'ffffffff-0000-7000-8000-0001365e0e54' }),
    ]
    const erased = await scene.send(agent, { sessionId: 'ticket/gone' })
    await scene.cancel(erased)
    await storage.messages.erase({ ...OF_PROJECT, agentId: agent.id, sessionId: 'ticket/gone' })
    for (const text of ['ticket/', '4711', 'TICKET/4711-GRößE'])
      expect(await found(storage, { text }, 50)).toEqual([ticket.id])
    expect(await found(storage, { text: 'ticket/', sessionId: 'other' }, 50)).toEqual([])
    for (const text of ['365e0e54', '…365e0e54', '8000-0001365E0E54', other.id])
      expect(await found(storage, { text }, 50)).toEqual([other.id])
    for (const text of ['65e0e54', '…65e0e54', '365e0e5', '%365e0e54', '7000-8000-000136'])
      expect(await found(storage, { text }, 50)).toEqual([])
    expect(await found(storage, { text: 'the', scope: { prefix: 'oth' } }, 50)).toEqual([other.id])
  })

  it('take quotes, operators and long texts as they are', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const texts = [
      `it's "quoted" AND (a OR b) NOT c* NEAR/2 d:e ^f -g +h "`,
      String.raw`a\b%c_d' or 1=1; -- & | ! <-> :*`,
      `long ${'%é'.repeat(5_000)} end`,
    ]
    const sent: string[] = []
    for (const message of texts) sent.push((await scene.send(agent, { message })).id)
    for (const [at, whole] of texts.entries()) {
      const text = whole.slice(-MOST_WANTED)
      expect(await found(storage, { text }, 50)).toEqual([sent[at]])
      expect(await found(storage, { text: text.slice(1, -1) }, 50)).toEqual([sent[at]])
      expect(await found(storage, { text: `${text}x` }, 50)).toEqual([])
      for (const name of ['sessionId', 'endUserId', 'correlationId'] as const)
        expect(await found(storage, { [name]: whole }, 50)).toEqual([])
    }
    for (const text of ['"', `'`, '*', ':*', 'NEAR', 'AND (', '%é%é'])
      expect((await found(storage, { text }, 50)).length, text).toBeGreaterThan(0)
    for (const text of ['quoted OR nothing', 'it* ', 'quoted & a', '"quoted" "AND"'])
      expect(await found(storage, { text }, 50), text).toEqual([])
  })

  it('find a text at each place of a long message', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const text = 'Größe €😀 z'.padEnd(MOST_WANTED, '.')
    const sent: string[] = []
    for (let place = 0; place < 40_000; place += 1_999) {
      const message = `${'é'.repeat(place)}${text}${'é'.repeat(40_000 - place)}`
      sent.push((await scene.send(agent, { sessionId: `s${place}`, message })).id)
    }
    expect(await found(storage, { text: text.replace('G', 'g') }, 50)).toEqual(sent.toReversed())
    expect(await found(storage, { text: text.replace('ö', 'Ö') }, 50)).toEqual([])
  })

  it('do not find erased messages, and continue at the place of one', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const [first, second, third] = [
      await scene.send(agent, newMessage(agent, { sessionId: 'a' })),
      await scene.send(agent, newMessage(agent, { sessionId: 'b' })),
      await scene.send(agent, newMessage(agent, { sessionId: 'c' })),
    ]
    await scene.cancel(second)
    const erase = { projectId: PROJECT_ID, agentId: agent.id, sessionId: 'b' }
    await storage.messages.erase(erase)
    for (const isSwept of [false, true]) {
      if (isSwept) await storage.messages.sweep({ limit: 100, now: NOW })
      expect(await found(storage, {}, 50)).toEqual([third.id, first.id])
      expect(await found(storage, { createdAfter: NOW }, 1)).toEqual([third.id, first.id])
      expect(await found(storage, { messageId: second.id }, 1)).toEqual([])
      expect(await found(storage, { text: second.message }, 50)).toEqual([third.id, first.id])
      const page = { limit: 5, cursor: second.id }
      for (const search of [{}, { createdBefore: NOW + 1 }]) {
        const behind = await storage.messages.search({ projectId: PROJECT_ID, ...search }, page)
        expect(behind.data.map(({ id }) => id)).toEqual([first.id])
      }
    }
  })

  it('find the messages of a session in the order of their places', async ({ storage, scene }) => {
    const agents = [await scene.agent(), await scene.agent()] as const
    const sent: Message[] = []
    for (const agent of [agents[0], agents[1], agents[0], agents[1]])
      sent.push(await scene.send(agent, { sessionId: 's' }))
    const [retried] = sent
    if (!retried) throw new Error('nothing was sent')
    await scene.cancel(retried)
    const { projectId, agentId, id: messageId } = retried
    await storage.messages.retry({ projectId, agentId, messageId, now: NOW })
    const inOrder = [3, 1, 0, 2].map((place) => sent[place]?.id)
    for (const limit of LIMITS)
      expect(await found(storage, { sessionId: 's' }, limit)).toEqual(inOrder)
  })
}
