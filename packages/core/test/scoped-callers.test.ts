import { describe, expect, it } from 'vitest'
import { SCOPED_CALLS } from '../src/domain/access/access.js'
import { refusalOf } from '@org/agent-messaging-testing'
import type { Access, MessagingError, SendInput } from '@org/agent-messaging-core'
import { scene } from './scene.js'

const PAGE = { limit: 50 }
const echo = {
  handler: ({ message }: { message: string }) =>
    ({ kind: 'answered', response: `re: ${message}` }) as const,
}
const accessOf = (change: Partial<Access> = {}): Access => ({
  caller: 'u1',
  permissions: ['project:message'],
  sessions: { prefix: 'u1/' },
  ...change,
})
const own = accessOf()
const kindOf = async (answer: Promise<unknown>): Promise<string> => (await refusalOf(answer)).kind

/** A message in a session of the caller, and one in a session of another caller. */
async function two(options: Parameters<typeof scene>[0] = echo) {
  const parts = await scene(options)
  const mine = await parts.post('mine', { sessionId: 'u1/a' })
  const foreign = await parts.post('foreign', { sessionId: 'u10/a' })
  await parts.clock.advance(0)
  return { ...parts, mine, foreign }
}

it.each([
  null,
  { caller: 'u1', permissions: [] },
  { ...own, session: own.sessions },
  { ...own, sessions: 'mine' },
  { ...own, sessions: { prefix: 'u1' } },
])('no call takes %j as an access', async (access) => {
  const { service, ref, foreign } = await two()
  for (const path of [...SCOPED_CALLS, 'agents.get']) {
    const [group = '', name = ''] = path.split('.')
    const calls = service[group as 'messages'] as object as Record<
      string,
      (input: object) => Promise<unknown>
    >
    const input = {
      ...ref,
      messageId: foreign.id,
      inputId: foreign.id,
      sessionId: 's',
      message: 'm',
    }
    const limits = { maxTurns: 1, maxLength: 1, most: 1, ...PAGE }
    const refused = await refusalOf(
      calls[name]?.({ ...input, ...limits, access }) ?? Promise.resolve(),
    )
    const issues = [{ path: 'access', message: expect.stringContaining('is no Access: ') }]
    expect([path, refused]).toEqual([path, { kind: 'invalid', issues }])
  }
})

it('no other field of a list names the agent or the sessions that it shows', async () => {
  const { service, ref, project, mine } = await two()
  const runtime = { kind: 'fake' }
  const { agent } = await service.agents.create({ projectId: project.id, name: 'other', runtime })
  const other = { projectId: project.id, agent: 'other', sessionId: 'u1/o', message: 'm' }
  await service.messages.send(other)
  const more = { agentId: agent.id, scope: { prefix: 'u' } }
  const asked = { ...ref, ...more, access: { ...own, agents: [ref.agent] } }
  const listed = await service.messages.list({ ...asked, ...PAGE })
  expect(listed.data.map(({ id }) => id)).toEqual([mine.id])
  expect(await service.messages.count({ ...asked, most: 9 })).toBe(1)
})

describe('a caller with a prefix of sessions', () => {
  it('sends to its own sessions, and finds no other session', async () => {
    const { send, service, ref } = await scene(echo)
    const sent = await send('hi', { sessionId: 'u1/a', access: own })
    expect(sent.message.state.kind).toBe('responded')
    for (const sessionId of ['u10/a', 'u1', 'U1/a'])
      expect(await kindOf(send('hi', { sessionId, access: own }))).toBe('session_not_found')
    const { data } = await service.sessions.list({ ...ref, ...PAGE })
    expect(data.map(({ sessionId }) => sessionId)).toEqual(['u1/a'])
  })

  it('reads and changes messages of its own sessions only', async () => {
    const { service, ref, mine, foreign } = await two()
    const { messages } = service
    const calls = [
      messages.get,
      messages.stream,
      messages.cancel,
      messages.retry,
      (of: typeof ref & { messageId: string; access: Access }) =>
        messages.history({ ...of, maxTurns: 9, maxLength: 999 }),
    ]
    for (const call of calls) {
      const seen = async (messageId: string) => call({ ...ref, messageId, access: own })
      expect(await kindOf(seen(foreign.id))).toBe('message_not_found')
      const found = await seen(mine.id).catch(({ kind }: MessagingError) => kind)
      expect(found).not.toBe('message_not_found')
    }
  })

  it('lists, counts and searches its own messages and sessions', async () => {
    const { service, ref, project, mine } = await two()
    const { messages, sessions } = service
    const idsOf = (page: { readonly data: readonly { readonly id: string }[] }) =>
      page.data.map(({ id }) => id)
    const list = (more: object = {}) =>
      messages.list({ ...ref, ...PAGE, access: own, ...more }).then(idsOf)
    expect(await list()).toEqual([mine.id])
    expect(await list({ sessionId: 'u1/a' })).toEqual([mine.id])
    expect(await list({ sessionId: 'u10/a' })).toEqual([])
    expect(await list({ access: undefined })).toHaveLength(2)
    const count = await messages.count({ ...ref, most: 9, access: own })
    expect(count).toBe(1)
    for (const more of [{}, { text: 'e' }, { state: 'responded' }] as const) {
      const input = { projectId: project.id, ...PAGE, access: own, ...more }
      const found = await messages.search(input)
      expect(found.data.map(({ message }) => message.id)).toEqual([mine.id])
    }
    const listed = await sessions.list({ ...ref, ...PAGE, access: own })
    expect(listed.data.map(({ sessionId }) => sessionId)).toEqual(['u1/a'])
  })

  it('sees no deliveries of its messages, and registers no hook with a send', async () => {
    const { service, project, hook, send, clock } = await scene(echo)
    await hook()
    await send('hi', { sessionId: 'u1/a' })
    await clock.advance(0)
    const deliveries = async (access?: Access) =>
      (await service.messages.search({ projectId: project.id, ...PAGE, access })).data[0]
        ?.deliveries.length
    expect(await deliveries()).toBe(1)
    expect(await deliveries(accessOf({ sessions: 'all' }))).toBe(1)
    expect(await deliveries(own)).toBe(0)
    const withHook = { sessionId: 'u1/a', hook: { name: 'h', url: 'https://x.example/' } }
    expect(await kindOf(send('hi', { ...withHook, access: own }))).toBe('access_restricted')
  })

  it('uses the same idempotency keys as another caller, and its own key only once', async () => {
    const { post } = await scene(echo)
    const sent = async (sessionId: string, access?: Access) =>
      (await post('hi', { sessionId, idempotencyKey: '1', access })).id
    const other = accessOf({ caller: 'u2', sessions: { ids: ['u2/a', 'u2/b'] } })
    const ids = [
      await sent('u1/a', own),
      await sent('u1/b', own),
      await sent('u2/a', other),
      await sent('u1/a'),
    ]
    expect(new Set(ids).size).toBe(4)
    expect(await sent('u1/a', own)).toBe(ids[0])
    expect(await sent('u1/a')).toBe(ids[3])
  })

  it('has its key checked before it is stored as a digest', async () => {
    const { send } = await scene(echo)
    const refused = send('hi', { sessionId: 'u1/a', idempotencyKey: 'ä', access: own })
    expect(await kindOf(refused)).toBe('invalid')
  })
})

describe('a caller with some agents', () => {
  it('reaches them by id or name, and finds no other agent', async () => {
    const { service, ref, bot, project, post } = await scene(echo)
    const runtime = { kind: 'fake' }
    await service.agents.create({ projectId: project.id, name: 'other', runtime })
    const other = { ...ref, agent: 'other' }
    const { id: messageId } = await post('hi')
    for (const name of ['bot', bot.id]) {
      const access = accessOf({ sessions: 'all', agents: [name, 'unknown'] })
      const { agents, messages, sessions } = service
      expect((await messages.get({ ...ref, messageId, access })).id).toBe(messageId)
      const search = { projectId: project.id, ...PAGE, access }
      expect((await messages.search(search)).data).toHaveLength(1)
      expect((await messages.search({ ...search, agent: 'bot' })).data).toHaveLength(1)
      for (const agent of ['other', 'unknown'])
        for (const list of [messages.search, service.inputs.list])
          expect(await kindOf(list({ ...search, agent }))).toBe('agent_not_found')
      const lists = [
        messages.list({ ...other, ...PAGE, access }),
        messages.count({ ...other, most: 9, access }),
        messages.get({ ...other, messageId, access }),
        messages.send({ ...other, sessionId: 's', message: 'hi', access }),
        sessions.list({ ...other, ...PAGE, access }),
        agents.get({ ...other, access }),
      ]
      for (const answer of lists) expect(await kindOf(answer)).toBe('agent_not_found')
    }
    const none = accessOf({ sessions: 'all', agents: ['other'] })
    const search = { projectId: project.id, ...PAGE, access: none }
    expect((await service.messages.search(search)).data).toEqual([])
  })
})

describe('a caller with a principal', () => {
  const access = accessOf({ sessions: 'all', principal: { endUserId: 'u1' } })
  const user = (endUserId: string) => ({ type: 'end_user', endUserId }) as const

  it('sends as that end user only', async () => {
    const { post, send } = await scene(echo)
    for (const more of [{}, { executionPrincipal: user('u1') }])
      expect((await post('hi', { ...more, access })).executionPrincipal).toEqual(user('u1'))
    const refused = async (executionPrincipal: unknown) =>
      kindOf(send('hi', { executionPrincipal, access }))
    expect(await refused(user('u2'))).toBe('access_restricted')
    expect(await refused({ type: 'service' })).toBe('access_restricted')
    expect(await refused({ type: 'robot' })).toBe('principal_invalid')
  })

  it('finds messages of that end user only', async () => {
    const { post, service, project } = await scene(echo)
    const mine = await post('hi', { access })
    await post('hi', { executionPrincipal: user('u2') })
    const find = (endUserId?: string) =>
      service.messages.search({ projectId: project.id, ...PAGE, access, endUserId })
    for (const endUserId of [undefined, 'u1'])
      expect((await find(endUserId)).data[0]?.message.id).toBe(mine.id)
    expect((await find()).data).toHaveLength(1)
    expect(await refusalOf(find('u2'))).toMatchObject({ kind: 'access_restricted' })
  })

  it('lists the questions in its scope, and answers them as that end user', async () => {
    const { post, service, ref, project, clock } = await scene({
      handler: ({ inputs = [] }) =>
        inputs.length === 0
          ? { kind: 'input_required', question: 'Pay?', answerBy: 'execution_principal' }
          : { kind: 'answered', response: 'paid' },
    })
    const scoped = { ...access, sessions: { ids: ['s'] } }
    const mine = await post('hi', { access: scoped })
    await post('hi', { executionPrincipal: user('u2'), sessionId: 'foreign' })
    await clock.advance(0)
    const input = { projectId: project.id, ...PAGE, access: scoped }
    const [asked, ...others] = (await service.inputs.list(input)).data
    expect([asked?.id, others]).toEqual([mine.id, []])
    const ofOther = { ...input, endUserId: 'u2' }
    expect(await kindOf(service.inputs.list(ofOther))).toBe('access_restricted')
    const inputId = asked?.inputs?.[0]?.id ?? ''
    const answer = (more: object) =>
      service.inputs.answer({ ...ref, messageId: mine.id, inputId, value: 'yes', ...more })
    const asOther = { access: scoped, executionPrincipal: user('u2') }
    expect(await kindOf(answer(asOther))).toBe('access_restricted')
    const asNobody = {
      access: { ...scoped, principal: { endUserId: 'u3' } },
      executionPrincipal: null,
    }
    expect(await kindOf(answer(asNobody))).toBe('input_restricted')
    const foreign = { ...scoped, sessions: { ids: ['foreign'] } }
    expect(await kindOf(answer({ access: foreign }))).toBe('message_not_found')
    expect((await answer({ access: scoped })).state.kind).toBe('queued')
    await clock.advance(0)
  })
})

describe('the limits of a caller', () => {
  it('are at most ten streams, while others can open more', async () => {
    const { service, ref, mine } = await two({})
    const open = (access?: Access) =>
      service.messages.stream({ ...ref, messageId: mine.id, access })
    const streams = []
    for (let count = 0; count < 10; count++) streams.push(await open(own))
    expect(await kindOf(open(own))).toBe('too_many_streams')
    await open(accessOf({ caller: 'u2' }))
    await open()
    await streams[0]?.return?.()
    await open(own)
    expect(await kindOf(open(own))).toBe('too_many_streams')
    await service.stop({ graceMs: 0 })
  })

  it('are at most ten waits, and another send is answered at once', async () => {
    const { send, clock, service } = await scene({ agent: { concurrency: 50 } })
    const waiting: string[] = []
    const start = (name: string, access?: Access) => {
      const sessionId = `u1/${name}`
      waiting.push(name)
      void send('hi', { sessionId, access }).then(() => waiting.splice(waiting.indexOf(name), 1))
    }
    for (let count = 0; count < 10; count++) start(`${count}`, own)
    await clock.advance(0)
    expect(waiting).toHaveLength(10)
    start('late', own)
    start('of u2', accessOf({ caller: 'u2' }))
    start('of a key')
    await clock.advance(0)
    expect(waiting.slice(10)).toEqual(['of u2', 'of a key'])
    await clock.advance(30_000)
    expect(waiting).toEqual([])
    start('again', own)
    await clock.advance(0)
    expect(waiting).toEqual(['again'])
    await service.stop({ graceMs: 0 })
  })

  it('are the sends of a key, for each caller', async () => {
    const quotas = { key: { messagesPerMinute: 1, burst: 2 } }
    const { send } = await scene({ ...echo, policy: { quotas } })
    const sent = async (access: Access, more: Partial<SendInput> = {}) => {
      const answer = send('hi', { sessionId: 'u1/a', access, ...more })
      return answer.then(
        () => 'sent',
        ({ kind }: MessagingError) => kind,
      )
    }
    expect([await sent(own), await sent(own), await sent(own)]).toEqual([
      'sent',
      'sent',
      'rate_limited',
    ])
    expect(await sent(accessOf({ caller: 'u2' }))).toBe('sent')
  })
})
