import { describe, expect, it } from 'vitest'
import { callTool, ERAS, openScene } from './scene.js'

describe.each(ERAS)('tools of a %s client', (era) => {
  it('are listed with their schemas', async () => {
    const { clientOf } = await openScene()
    const { tools } = await (await clientOf(era)).listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'list_agents',
      'send_message',
      'get_message',
      'answer_input',
      'cancel_message',
    ])
    expect(tools[1]?.inputSchema).toMatchObject({
      properties: { agent: { type: 'string' }, wait: { type: 'boolean' } },
      required: ['agent', 'message'],
    })
  })

  it('publish an event, if the endpoint offers the tool', async () => {
    const { clientOf } = await openScene({ publishes: true })
    const client = await clientOf(era)
    const input = { type: 'order.paid', data: { orderId: 'o-1' }, id: 'e-1' }
    const first = await callTool(client, 'publish_event', input)
    expect(first.output).toEqual({ id: 'e-1', replayed: false })
    expect((await callTool(client, 'publish_event', input)).output).toMatchObject({
      replayed: true,
    })
    const wrong = await callTool(client, 'publish_event', { ...input, type: 'order' })
    expect(wrong.isError).toBe(true)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('publish_event')
  })

  it('list the agents of the project, page by page', async () => {
    const { clientOf } = await openScene()
    const { output } = await callTool(await clientOf(era), 'list_agents', {})
    const agents = output?.['agents'] as { readonly name: string }[]
    expect(agents.map(({ name }) => name)).toContain('echo')
    expect(agents.find(({ name }) => name === 'echo')).toMatchObject({
      state: 'running',
      description: 'Repeats your words',
    })
    expect(output?.['nextCursor']).toBeNull()
  })

  it('send a message, and return its answer as data and as text', async () => {
    const { clientOf, messagesOf } = await openScene()
    const input = {
      agent: 'echo',
      message: 'Hello',
      sessionId: 'chat-1',
      metadata: { channel: 'C1' },
      endUserId: 'u-1',
    }
    const { isError, output, texts } = await callTool(await clientOf(era), 'send_message', input)
    const [message] = await messagesOf('echo')
    expect([isError, output]).toEqual([
      false,
      {
        messageId: message?.id,
        agentId: message?.agentId,
        sessionId: 'chat-1',
        state: 'responded',
        response: 'Hello',
      },
    ])
    expect(texts).toEqual([JSON.stringify(output)])
    expect(message).toMatchObject({
      metadata: { channel: 'C1' },
      executionPrincipal: { type: 'end_user', endUserId: 'u-1' },
    })
  })

  it('start a session that a later message continues', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf(era)
    const first = await callTool(client, 'send_message', { agent: 'echo', message: 'one' })
    const sessionId = first.output?.['sessionId']
    await callTool(client, 'send_message', { agent: 'echo', message: 'two', sessionId })
    await callTool(client, 'send_message', { agent: 'echo', message: 'three' })
    const sessions = (await messagesOf('echo')).map((message) => message.sessionId)
    expect(sessions.map((session) => session === sessionId)).toEqual([true, true, false])
  })

  it('send a message once per idempotency key', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf(era)
    const input = { agent: 'echo', message: 'Hello', idempotencyKey: 'k-1' }
    const first = await callTool(client, 'send_message', input)
    expect((await callTool(client, 'send_message', input)).output).toEqual(first.output)
    expect(await messagesOf('echo')).toHaveLength(1)
    const sessionId = first.output?.['sessionId']
    const other = { ...input, message: 'Another', sessionId }
    expect((await callTool(client, 'send_message', other)).output).toEqual(first.output)
  })

  it.each(['reuse', 'reject'] as const)(
    'refuse the key of another session, end user or message, and tell nothing of it (%s)',
    async (onKeyMismatch) => {
      const { clientOf, messagesOf } = await openScene({}, { onKeyMismatch })
      const client = await clientOf(era)
      const input = { agent: 'echo', message: 'my pin is 4711', idempotencyKey: 'k-1' }
      const first = { ...input, endUserId: 'u-1' }
      await callTool(client, 'send_message', first)
      const stored = await messagesOf('echo')
      const others = [{ sessionId: 'mine' }, { endUserId: 'u-2' }, { message: 'Hello' }]
      for (const other of others) {
        const refused = await callTool(client, 'send_message', { ...first, ...other })
        expect(refused).toMatchObject({ isError: true, output: undefined })
        const [text] = refused.texts
        expect(text).toContain('idempotencyKey was already used with a different message')
        for (const part of [stored[0]?.id, stored[0]?.sessionId, '4711'])
          expect(text).not.toContain(part)
      }
      expect(await messagesOf('echo')).toEqual(stored)
    },
  )

  it('return the id of a message without an answer, which can be read later', async () => {
    const { clientOf, runtime } = await openScene()
    const client = await clientOf(era)
    const input = { agent: 'slow', message: 'Hello', wait: false }
    const { output } = await callTool(client, 'send_message', input)
    const messageId = output?.['messageId'] as string
    expect(output).toMatchObject({ sessionId: expect.stringMatching(/^mcp-id-/) })
    expect(output).not.toHaveProperty('response')
    await expect.poll(() => runtime.openRuns).toEqual([messageId])
    const read = callTool(client, 'get_message', { agent: 'slow', messageId })
    runtime.answer(messageId, 'Done')
    expect((await read).output).toMatchObject({ state: 'responded', response: 'Done' })
  })

  it('wait for the time of the policy, and then return the state', async () => {
    const { clientOf, clock, runtime, service } = await openScene()
    const client = await clientOf(era)
    const sending = callTool(client, 'send_message', { agent: 'slow', message: 'Hello' })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    await clock.advance(service.policy.syncWaitMs)
    expect((await sending).output).toMatchObject({ state: 'running' })
  })

  it('report a failed message as an error', async () => {
    const { clientOf } = await openScene()
    const input = { agent: 'failing', message: 'Hello' }
    const { isError, output } = await callTool(await clientOf(era), 'send_message', input)
    expect(isError).toBe(true)
    expect(output).toMatchObject({
      state: 'failed',
      error: { code: 'RUNTIME_ERROR', message: expect.stringContaining('told to fail') },
    })
  })
})

describe('a refused call', () => {
  const uuid = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'
  const missing = { agent: 'echo', messageId: uuid }

  it.each([
    ['send_message', { agent: 'nobody', message: 'Hi' }, 'agent_not_found'],
    ['send_message', { agent: '../echo', message: 'Hi' }, 'agent_not_found'],
    ['send_message', { agent: 'echo', message: '' }, 'invalid'],
    ['send_message', { agent: 'echo', message: '\u0000' }, 'invalid'],
    ['send_message', { agent: 'for-users', message: 'Hi' }, 'end_user_id_required'],
    ['send_message', { agent: 'echo', message: 'Hi', endUserId: '' }, 'principal_invalid'],
    ['get_message', missing, 'message_not_found'],
    ['get_message', { agent: 'echo', messageId: 'm' }, 'message_not_found'],
    ['get_message', { agent: 'nobody', messageId: uuid }, 'agent_not_found'],
    ['answer_input', { ...missing, inputId: uuid, value: 1 }, 'message_not_found'],
    ['answer_input', { ...missing, inputId: 'i', value: 1 }, 'input_not_found'],
    ['list_agents', { cursor: 'next' }, 'invalid'],
  ])('%s with %j says %s', async (name, input, kind) => {
    const { clientOf, messagesOf } = await openScene()
    const { isError, texts } = await callTool(await clientOf('modern'), name, input)
    expect([isError, texts[0]?.split(':')[0]]).toEqual([true, kind])
    expect(await messagesOf('echo')).toEqual([])
  })

  it('with a missing or wrong argument names it', async () => {
    const { clientOf } = await openScene()
    const client = await clientOf('modern')
    for (const input of [{ agent: 'echo' }, { agent: 'echo', message: 1 }]) {
      const { isError, texts } = await callTool(client, 'send_message', input)
      expect([isError, texts[0]]).toEqual([true, expect.stringContaining('message')])
    }
  })
})
