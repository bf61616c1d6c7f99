import { describe, expect, it } from 'vitest'
import type { Policy } from '@org/agent-messaging-core'
import type { Question } from '@org/agent-messaging-core/runtime'
import { endpointOf } from '../src/endpoint.js'
import type { McpEndpointOptions } from '../src/index.js'
import { createdTask, takesTasks, tasksMissing, type Task } from '../src/tasks.js'
import { legacyCall, modernRequest, openScene } from './scene.js'

const TASKS = 'io.modelcontextprotocol/tasks'
const WITH_TASKS = { extensions: { [TASKS]: {} } }
const WITH_FORMS = { ...WITH_TASKS, elicitation: { form: {} } }
const UUID = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'
const TASK_AFTER_MS = 2_000
const READ_AFTER_MS = 500
const SLOW_CALL = { name: 'send_message', arguments: { agent: 'slow', message: 'Hello' } }

type Sent = { readonly capabilities?: object; readonly key?: string }
type Answer = {
  readonly status: number
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object }
}

/** Serves the endpoint, and sends it requests of revision 2026-07-28. */
async function openTasks(options: Partial<McpEndpointOptions> = {}, policy: Partial<Policy> = {}) {
  const scene = await openScene(options, policy)
  async function rpc(
    method: string,
    params: Record<string, unknown>,
    { capabilities = WITH_TASKS, key = scene.key }: Sent = {},
  ): Promise<Answer> {
    const { body, headers } = modernRequest(method, params, capabilities)
    const authorization = `Bearer ${key}`
    const { status, text } = await scene.request(body, { ...headers, authorization })
    return { status, ...JSON.parse(text) }
  }
  const call = (name: string, args: object, sent?: Sent) =>
    rpc('tools/call', { name, arguments: args }, sent)
  /** Sends a message to the agent `slow`, and waits until the call is a task. */
  async function begin(sent?: Sent, args: object = {}) {
    const calling = call('send_message', { agent: 'slow', message: 'Hello', ...args }, sent)
    await expect.poll(() => scene.runtime.openRuns).toHaveLength(1)
    await scene.clock.advance(TASK_AFTER_MS)
    const { result } = await calling
    const [messageId = ''] = scene.runtime.openRuns
    return { result, taskId: String(result?.['taskId']), messageId }
  }
  const get = async (taskId: string, sent?: Sent) =>
    (await rpc('tasks/get', { taskId }, sent)).result
  return { ...scene, begin, call, get, rpc }
}

describe('a call of a client that reads tasks', () => {
  it('has the answer as its result if the agent answers soon', async () => {
    const { call } = await openTasks()
    const { result } = await call('send_message', { agent: 'echo', message: 'Hello' })
    expect(result).toMatchObject({
      resultType: 'complete',
      structuredContent: { state: 'responded', response: 'Hello' },
    })
  })

  it('becomes a task after 2 s, with the answer of the agent as its result', async () => {
    const { begin, get, runtime } = await openTasks()
    const { result, taskId, messageId } = await begin()
    expect(result).toEqual({
      resultType: 'task',
      content: [],
      taskId: expect.stringMatching(`/${messageId}$`),
      status: 'working',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      lastUpdatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      ttlMs: null,
      pollIntervalMs: 1_000,
      _meta: expect.anything(),
    })
    expect(await get(taskId)).toMatchObject({ resultType: 'complete', taskId, status: 'working' })
    runtime.answer(messageId, 'Done')
    await expect
      .poll(() => get(taskId))
      .toMatchObject({
        status: 'completed',
        result: { structuredContent: { messageId, state: 'responded', response: 'Done' } },
      })
  })

  it.each([
    ['without the extension', {}, {}],
    ['with wait: false', WITH_TASKS, { wait: false }],
  ])('%s never becomes a task', async (_, capabilities, args) => {
    const { call, clock, runtime, service } = await openTasks()
    const input = { agent: 'slow', message: 'Hello', ...args }
    const calling = call('send_message', input, { capabilities })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    await clock.advance(service.policy.syncWaitMs)
    const { result } = await calling
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: {} })
    expect(result).not.toHaveProperty('taskId')
  })

  it('reads a message as the same task', async () => {
    const { call } = await openTasks({ taskAfterMs: 0 })
    const { result } = await call('send_message', { agent: 'slow', message: 'Hello' })
    const taskId = String(result?.['taskId'])
    const [, messageId] = taskId.split('/')
    const read = await call('get_message', { agent: 'slow', messageId })
    expect(read.result).toMatchObject({ resultType: 'task', taskId })
  })
})

describe('a task', () => {
  it('of a failed run is completed with isError', async () => {
    const { begin, get, runtime } = await openTasks()
    const { taskId, messageId } = await begin()
    runtime.fail(messageId, 'out of paper')
    await expect
      .poll(() => get(taskId))
      .toMatchObject({
        status: 'completed',
        result: { isError: true, structuredContent: { state: 'failed' } },
      })
  })

  it('can be read for as long as the message is kept', async () => {
    const messagesMs = 86_400_000
    const retention = { deliveriesMs: messagesMs, eventsMs: messagesMs, messagesMs }
    const { begin, get, runtime } = await openTasks({}, { retention })
    const { result, taskId, messageId } = await begin()
    expect(result?.['ttlMs']).toBe(messagesMs)
    runtime.answer(messageId, 'Done')
    await expect
      .poll(() => get(taskId))
      .toMatchObject({ status: 'completed', ttlMs: messagesMs + TASK_AFTER_MS })
  })

  it('is cancelled with its message, and cancelled once', async () => {
    const { begin, get, messagesOf, rpc } = await openTasks()
    const { taskId } = await begin()
    for (const _ of [1, 2]) {
      const { result } = await rpc('tasks/cancel', { taskId })
      expect(result).toEqual({ resultType: 'complete', _meta: expect.anything() })
    }
    expect(await get(taskId)).toMatchObject({ status: 'cancelled' })
    expect((await messagesOf('slow')).map(({ state }) => state.kind)).toEqual(['cancelled'])
  })

  it('that has ended stays as it is when it is cancelled', async () => {
    const { begin, get, messagesOf, rpc, runtime } = await openTasks()
    const { taskId, messageId } = await begin()
    runtime.answer(messageId, 'Done')
    await expect.poll(() => get(taskId)).toMatchObject({ status: 'completed' })
    expect((await rpc('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' })
    expect((await messagesOf('slow')).map(({ state }) => state.kind)).toEqual(['responded'])
  })

  it('goes on when its client leaves', async () => {
    const { key, messagesOf, runtime, url } = await openTasks()
    const client = new AbortController()
    const { body, headers } = modernRequest('tools/call', SLOW_CALL, WITH_TASKS)
    const call = fetch(url, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      signal: client.signal,
    })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    client.abort()
    await expect(call).rejects.toThrow('aborted')
    const [messageId = ''] = runtime.openRuns
    runtime.answer(messageId, 'Done')
    await expect
      .poll(async () => (await messagesOf('slow')).map(({ state }) => state.kind))
      .toEqual(['responded'])
  })
})

describe('a question of a task', () => {
  /** A task whose agent asks for the choice of a size. */
  async function ask(sent?: Sent, question: Partial<Question> = {}, args: object = {}) {
    const scene = await openTasks()
    const { taskId, messageId } = await scene.begin(sent, args)
    scene.runtime.ask(messageId, { question: 'Which?', options: ['S', 'L'], ...question })
    await expect
      .poll(async () => (await scene.messagesOf('slow'))[0]?.state.kind)
      .toBe('input_required')
    const [message] = await scene.messagesOf('slow')
    const inputId = message?.inputs?.[0]?.id ?? ''
    const update = (answer: unknown, ofSend?: Sent) =>
      scene.rpc('tasks/update', { taskId, inputResponses: { [inputId]: answer } }, ofSend)
    return { ...scene, inputId, messageId, taskId, update }
  }
  const choose = (value: string) => ({ action: 'accept', content: { value } })
  const ACKNOWLEDGED = { resultType: 'complete', _meta: expect.anything() }

  it('is a form, and its answer continues the task', async () => {
    const { get, inputId, messageId, runtime, taskId, update } = await ask()
    const asked = await get(taskId, { capabilities: WITH_FORMS })
    expect(asked).toMatchObject({
      status: 'input_required',
      inputRequests: {
        [inputId]: {
          method: 'elicitation/create',
          params: {
            message: 'Which?',
            requestedSchema: { properties: { value: { type: 'string', enum: ['S', 'L'] } } },
          },
        },
      },
    })
    expect((await update(choose('L'))).result).toEqual(ACKNOWLEDGED)
    await expect.poll(() => runtime.requests.length).toBe(2)
    expect(runtime.requests[1]?.inputs?.map(({ value }) => value)).toEqual(['L'])
    expect(await get(taskId)).toMatchObject({ status: 'working' })
    runtime.answer(messageId, 'Done')
    await expect.poll(() => get(taskId)).toMatchObject({ status: 'completed' })
  })

  it.each([
    ['does not fit', choose('XXL'), 'invalid: value must be one of "S", "L"'],
    ['is declined', { action: 'decline' }, 'The question stays open'],
    ['is cancelled', { action: 'cancel' }, 'The question stays open'],
  ])('stays open if its answer %s', async (_, answer, text) => {
    const { get, taskId, update } = await ask()
    const { error } = await update(answer)
    expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining(text) })
    expect(await get(taskId, { capabilities: WITH_FORMS })).toMatchObject({
      status: 'input_required',
    })
  })

  it('is the result for a client without forms', async () => {
    const { get, inputId, taskId } = await ask()
    expect(await get(taskId)).toMatchObject({
      status: 'completed',
      result: { structuredContent: { state: 'input_required', input: { id: inputId } } },
    })
  })

  it('for the end user alone is the result, because a task names no end user', async () => {
    const question = { answerBy: 'execution_principal' } as const
    const { get, taskId, update } = await ask(undefined, question, { endUserId: 'u-1' })
    expect(await get(taskId, { capabilities: WITH_FORMS })).toMatchObject({
      status: 'completed',
      result: { structuredContent: { input: { answerBy: 'execution_principal' } } },
    })
    expect((await update(choose('S'))).error?.message).toMatch(/^input_restricted: /)
  })

  it.each([
    ['a question that was answered', (id: string) => ({ [id]: choose('L') })],
    ['a question that does not exist', () => ({ [UUID]: choose('L'), __proto__: choose('L') })],
    ['no question', () => ({})],
    ['all of them, in a list', () => [choose('L')]],
  ])('is not answered by an answer to %s', async (_, answersOf) => {
    const { inputId, messagesOf, rpc, taskId, update } = await ask()
    await update(choose('S'))
    const { result } = await rpc('tasks/update', { taskId, inputResponses: answersOf(inputId) })
    expect(result).toEqual(ACKNOWLEDGED)
    const [message] = await messagesOf('slow')
    expect(message?.inputs?.map(({ answer }) => answer?.value)).toEqual(['S'])
  })
})

describe('a request about tasks', () => {
  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s of a client without the extension is refused',
    async (method) => {
      const { begin, rpc } = await openTasks()
      const { taskId } = await begin()
      const { status, error } = await rpc(method, { taskId }, { capabilities: {} })
      expect([status, error]).toMatchObject([
        400,
        { code: -32_021, data: { requiredCapabilities: WITH_TASKS } },
      ])
    },
  )

  it('of a subscription without the extension is refused', async () => {
    const { rpc } = await openTasks()
    const params = { notifications: { taskIds: [`${UUID}/${UUID}`] } }
    const { status, error } = await rpc('subscriptions/listen', params, { capabilities: {} })
    expect([status, error?.code]).toEqual([400, -32_021])
  })

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s does not find what the caller does not reach',
    async (method) => {
      const { begin, messagesOf, otherKey, rpc } = await openTasks()
      const { taskId } = await begin()
      const [agentId = ''] = taskId.split('/')
      const ids = [
        UUID,
        `${UUID}/${UUID}`,
        `${agentId}/${UUID}`,
        `${taskId}/1`,
        '',
        '../..',
        '\u0000',
      ]
      const answers = [
        await rpc(method, { taskId }, { key: otherKey }),
        ...(await Promise.all(ids.map((id) => rpc(method, { taskId: id })))),
      ]
      for (const { error } of answers)
        expect(error).toEqual({ code: -32_602, message: 'The caller has no task with this id' })
      expect((await messagesOf('slow')).map(({ state }) => state.kind)).toEqual(['running'])
    },
  )

  it('needs the permission of its tool', async () => {
    const { begin, get, keyWith, rpc } = await openTasks()
    const { taskId } = await begin()
    const key = await keyWith(['project:read'])
    expect(await get(taskId, { key })).toMatchObject({ status: 'working' })
    for (const method of ['tasks/update', 'tasks/cancel']) {
      const { error } = await rpc(method, { taskId }, { key })
      expect(error?.message).toBe('The caller lacks the permission project:message')
    }
  })

  it.each(['tasks/list', 'tasks/result'])('%s does not exist', async (method) => {
    const { rpc } = await openTasks()
    expect((await rpc(method, { taskId: UUID })).error?.code).toBe(-32_601)
  })

  it('of an earlier revision does not exist', async () => {
    const { begin, request } = await openTasks()
    const { taskId } = await begin()
    const { text } = await request({
      ...legacyCall('', {}),
      method: 'tasks/get',
      params: { taskId },
    })
    expect(JSON.parse(text)).toMatchObject({ error: { code: -32_601 } })
  })

  it('does not show an unexpected exception', async () => {
    const { begin, errors, rpc, service } = await openTasks()
    const { taskId } = await begin()
    service.messages.get = () => {
      throw new Error('secret details')
    }
    const { error } = await rpc('tasks/get', { taskId })
    expect(error).toEqual({ code: -32_603, message: 'The service failed unexpectedly' })
    expect(errors).toMatchObject([{ message: 'secret details' }])
  })
})

describe('progress', () => {
  it('is told for each piece, if the request has a token', async () => {
    const { clock, request, runtime } = await openTasks()
    const { body, headers } = modernRequest('tools/call', SLOW_CALL, {}, { progressToken: 'p-1' })
    const answering = request(body, headers)
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const [messageId = ''] = runtime.openRuns
    runtime.requests[0]?.emit('Hel')
    await clock.advance(READ_AFTER_MS)
    runtime.requests[0]?.emit('lo')
    runtime.answer(messageId, 'Hello')
    const { text, headers: answered } = await answering
    expect(answered.get('content-type')).toBe('text/event-stream')
    const sent = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
    expect(sent.slice(0, -1).map(({ params }) => params)).toEqual([
      { progressToken: 'p-1', progress: 3, message: 'Hel' },
      { progressToken: 'p-1', progress: 5, message: 'lo' },
    ])
    expect(sent.at(-1)).toMatchObject({ result: { structuredContent: { response: 'Hello' } } })
  })
})

it('cancel_message cancels a message that has no answer', async () => {
  const { begin, call, messagesOf } = await openTasks()
  const { messageId } = await begin()
  const ref = { agent: 'slow', messageId }
  const { result } = await call('cancel_message', ref)
  expect(result).toMatchObject({ isError: false, structuredContent: { state: 'cancelled' } })
  expect((await messagesOf('slow')).map(({ state }) => state.kind)).toEqual(['cancelled'])
})

describe('a tool of other work', () => {
  const error = { code: -32_603, message: 'out of memory' }
  const facts = {
    taskId: 'job-1',
    createdAt: '2026-07-28T00:00:00Z',
    lastUpdatedAt: '2026-07-28T00:00:01Z',
    ttlMs: 60_000,
  }
  const task: Task = { ...facts, status: 'failed', error }

  /** Calls a tool that needs tasks, and whose task fails. */
  async function askTool(method: string, params: Record<string, unknown>, capabilities: object) {
    const { crypto, key, service } = await openScene()
    const app = endpointOf({ service, crypto, newId: () => 'id' }, () => ({
      tools: [
        {
          listed: { name: 'job', inputSchema: { type: 'object' } },
          run: async (_, ctx) => {
            if (!takesTasks(ctx)) throw tasksMissing()
            return createdTask(task)
          },
        },
      ],
      tasks: { get: async () => task, update: async () => {}, cancel: async () => {} },
    }))
    const { body, headers } = modernRequest(method, params, capabilities)
    const authorization = `Bearer ${key}`
    const init = { method: 'POST', headers: { ...headers, authorization } }
    const answer = await app.request('/mcp', { ...init, body: JSON.stringify(body) })
    return (await answer.json()) as Answer
  }

  it('begins a task without its end', async () => {
    const { result } = await askTool('tools/call', { name: 'job' }, WITH_TASKS)
    expect(result).toMatchObject({ resultType: 'task', taskId: 'job-1', ttlMs: 60_000 })
    expect(result).not.toHaveProperty('error')
  })

  it('can refuse a client without tasks', async () => {
    const answer = await askTool('tools/call', { name: 'job' }, {})
    expect(answer.error?.code).toBe(-32_021)
  })

  it('has a task that fails as a request does', async () => {
    const { result } = await askTool('tasks/get', { taskId: 'job-1' }, WITH_TASKS)
    expect(result).toMatchObject({ resultType: 'complete', status: 'failed', error })
  })
})
