import { PERMISSIONS, type Permission } from '@org/agent-messaging-core'
import type { Access, HttpHandlers } from '@org/agent-messaging-node'
import { describe, expect, it } from 'vitest'
import { modernRequest } from '../../endpoint-mcp/test/scene.js'
import { openDoor, withKey } from './door.js'

type Operation = {
  readonly method: string
  readonly path: string
  readonly operationId: string
  /** A caller needs one of them. Empty: the operation takes no API key. */
  readonly permissions: readonly Permission[]
}
type Document = {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { operationId: string; security?: readonly { projectKey?: readonly Permission[] }[] }
        >
      >
    >
  >
}

const UNKNOWN_ID = '01890000-0000-7000-8000-00000000dead'

/** All operations of the OpenAPI document. */
async function allOperationsOf(http: HttpHandlers): Promise<Operation[]> {
  const answer = await http.fetch(new Request('http://host.example/openapi.json'))
  const { paths } = (await answer.json()) as Document
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security = [] }]) => {
      const permissions = security.flatMap(({ projectKey = [] }) => projectKey)
      return { method: method.toUpperCase(), path: pathWithIds(path), operationId, permissions }
    }),
  )
}

const operationsOf = async (http: HttpHandlers): Promise<Operation[]> =>
  (await allOperationsOf(http)).filter(({ permissions }) => permissions.length > 0)

/** The operations that take another credential, or none. */
const WITHOUT_KEY = [
  'answerRun',
  'putEventTypeOfInstallation',
  'getEventTypeOfInstallation',
  'deleteEventTypeOfInstallation',
  'listEventTypesOfInstallation',
  'createProject',
  'listProjects',
  'getProject',
  'updateProject',
  'createProjectKey',
  'listProjectKeys',
  'revokeProjectKey',
  'createPlatformKey',
  'listPlatformKeys',
  'revokePlatformKey',
  'listAuditLogOfAllProjects',
  'listProjectOverviews',
  'getProjectUsage',
  'runPass',
  'runPassByGet',
  'getHealth',
  'getReadiness',
]

const pathWithIds = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'endUserId' ? 'someone' : UNKNOWN_ID))

/** What a caller who reaches only some sessions can do. */
const SCOPED = [
  'sendMessage',
  'searchMessages',
  'listMessages',
  'getMessage',
  'streamMessage',
  'cancelMessage',
  'retryMessage',
  'listSessions',
  'listInputs',
  'answerInput',
]

const ask = async (http: HttpHandlers, { method, path }: Operation, headers: object = {}) => {
  const request = new Request(`http://host.example${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(!['GET', 'DELETE'].includes(method) && { body: '{}' }),
  })
  return (await http.fetch(request)).status
}

const scoped: Access = {
  caller: 'ada',
  permissions: PERMISSIONS,
  sessions: { prefix: 'ada/' },
}

it('a user of the host reaches no other project by its path', async () => {
  const { http, messaging } = await openDoor({
    authorize: () => ({ caller: 'ada', permissions: PERMISSIONS, sessions: 'all' }),
  })
  const { id } = await messaging.service.projects.create({ name: 'another' })
  expect(await ask(http, { method: 'GET', path: `/v1/projects/${id}/webhooks` } as Operation)).toBe(
    401,
  )
})

it('each route takes an API key, or is known to take none', async () => {
  const { http } = await openDoor()
  const operations = await allOperationsOf(http)
  const withoutKey = operations.filter(({ permissions }) => permissions.length === 0)
  expect(withoutKey.map(({ operationId }) => operationId)).toEqual(WITHOUT_KEY)
})

describe('each route that takes an API key', () => {
  it('needs a permission of its own, and as a read project:read instead', async () => {
    const { http } = await openDoor()
    for (const { method, operationId, permissions } of await operationsOf(http)) {
      const [own, ...others] = permissions
      const isOfTypes = own === 'project:types'
      const isOfPortals = own === 'project:portals'
      const isOfEvent = ['getEvent', 'getEventStory', 'listEvents'].includes(operationId)
      const ofEvent = isOfEvent ? ['project:webhooks'] : []
      const readers = isOfTypes ? ['project:webhooks', 'project:events'] : ofEvent
      const ofGet = method === 'GET' ? [...readers, 'project:read'] : []
      const expected = isOfPortals ? ['project:admin'] : ofGet
      expect([operationId, others]).toEqual([operationId, expected])
      const isErasure = operationId === 'eraseSession' || operationId === 'erasePrincipal'
      expect([operationId, own === 'project:erase']).toEqual([operationId, isErasure])
    }
  })

  it('asks the hook for one of exactly its permissions', async () => {
    let permissions: readonly Permission[] = []
    const { http } = await openDoor({
      authorize: () => ({ caller: 'ada', permissions, sessions: 'all' }),
    })
    const operations = await operationsOf(http)
    expect(operations.length).toBeGreaterThan(50)
    for (const operation of operations) {
      const { operationId } = operation
      permissions = PERMISSIONS.filter((other) => !operation.permissions.includes(other))
      expect([operationId, await ask(http, operation)]).toEqual([operationId, 403])
      // A user of the host has no key that could end with its tokens.
      if (operationId === 'createSessionToken') continue
      for (const permission of operation.permissions) {
        permissions = [permission]
        expect([401, 403], operationId).not.toContain(await ask(http, operation))
      }
    }
  })

  it('is refused to a scoped user of the hook and to a session token, except ten', async () => {
    const { http, key, messaging } = await openDoor({
      authorize: ({ headers }) => (headers.has('authorization') ? undefined : scoped),
    })
    const created = await http.fetch(
      new Request('http://host.example/v1/session-tokens', {
        method: 'POST',
        headers: { ...withKey(key).headers, 'content-type': 'application/json' },
        body: JSON.stringify({ sessions: { prefix: 'ada/' } }),
      }),
    )
    expect(created.status).toBe(201)
    const { token } = (await created.json()) as { token: string }
    const operations = await operationsOf(http)
    for (const operation of operations) {
      const { operationId } = operation
      const isAllowed = SCOPED.includes(operationId)
      for (const headers of [{}, withKey(token).headers]) {
        const status = await ask(http, operation, headers)
        if (isAllowed) expect([401, 403], operationId).not.toContain(status)
        else expect([operationId, status]).toEqual([operationId, 403])
      }
    }
    expect(operations.filter(({ operationId }) => SCOPED.includes(operationId))).toHaveLength(10)
    const { webhooks } = messaging.service
    const page = { limit: 10 }
    expect((await webhooks.list({ projectId: messaging.projectId, ...page })).data).toEqual([])
  })
})

describe('a scoped caller', () => {
  /** Two users by the hook, who both send `Hello` with the idempotency key 1. */
  async function twoUsers() {
    const { http, messaging } = await openDoor({
      endpoints: ['openai', 'mcp', 'a2a', 'ai-sdk'],
      authorize: ({ headers }) => {
        const caller = headers.get('x-user')
        if (caller === null) return undefined
        return {
          caller,
          permissions: ['project:message', 'project:agents'],
          sessions: { prefix: `${caller}/` },
        }
      },
    })
    await messaging.service.agents.update({
      projectId: messaging.projectId,
      agent: 'echo',
      change: { a2a: { enabled: true } },
    })
    async function call(
      user: string,
      method: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ) {
      const answer = await http.fetch(
        new Request(`http://host.example${path}`, {
          method,
          headers: {
            'x-user': user,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'idempotency-key': '1',
            'a2a-version': '1.0',
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      )
      const text = await answer.text()
      // oxlint-disable-next-line typescript/no-explicit-any -- each test asserts what it reads
      const json: any = text.startsWith('{') ? JSON.parse(text) : undefined
      return { status: answer.status, json, text }
    }
    return { http, messaging, call }
  }
  const send = (sessionId: string, message = 'Hello') => ({ sessionId, message })
  const MESSAGES = '/v1/agents/echo/messages'

  it('sends to its sessions, and sees no others', async () => {
    const { call } = await twoUsers()
    const ada = await call('ada', 'POST', MESSAGES, send('ada/1', 'of ada'))
    const bob = await call('bob', 'POST', MESSAGES, send('bob/1', 'of bob'))
    expect([ada.json.response, bob.json.response]).toEqual(['of ada', 'of bob'])
    expect((await call('ada', 'POST', MESSAGES, send('bob/1'))).status).toBe(404)
    const path = `${MESSAGES}/${bob.json.messageId}`
    expect((await call('bob', 'GET', path)).status).toBe(200)
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/stream'],
      ['POST', '/cancel'],
      ['POST', '/retry'],
    ] as const)
      expect([rest, (await call('ada', method, path + rest)).status]).toEqual([rest, 404])
    for (const list of ['/v1/messages', MESSAGES])
      expect((await call('ada', 'GET', list)).json.data).toMatchObject([
        { messageId: ada.json.messageId },
      ])
    const sessions = await call('ada', 'GET', '/v1/agents/echo/sessions')
    expect(sessions.json.data).toMatchObject([{ sessionId: 'ada/1' }])
  })

  it('has the same limits in the endpoint of OpenAI', async () => {
    const { call } = await twoUsers()
    const ask = (user: string, fields: object = {}) =>
      call(user, 'POST', '/openai/v1/responses', { model: 'echo', input: 'Hello', ...fields })
    const ada = await ask('ada')
    const bob = await ask('bob', { conversation: 'bob/1' })
    expect([ada.status, bob.status]).toEqual([200, 200])
    expect((await ask('ada', { conversation: 'bob/1' })).status).toBe(404)
    expect((await ask('ada', { previous_response_id: bob.json.id })).status).toBe(404)
    const path = `/openai/v1/responses/${bob.json.id}`
    expect((await call('bob', 'GET', path)).status).toBe(200)
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '?stream=true'],
      ['GET', '/input_items'],
      ['POST', '/cancel'],
    ] as const)
      expect([rest, (await call('ada', method, path + rest)).status]).toEqual([rest, 404])
    expect((await call('bob', 'DELETE', path)).status).toBe(403)
    expect((await call('ada', 'GET', '/openai/v1/models')).status).toBe(403)
    const chat = { model: 'echo', messages: [{ role: 'user', content: 'Hello' }] }
    const foreign = { ...chat, metadata: { session_id: 'bob/1' } }
    expect((await call('ada', 'POST', '/openai/v1/chat/completions', foreign)).status).toBe(404)
  })

  it('has the same limits in the endpoint of the AI SDK', async () => {
    const { call } = await twoUsers()
    const message = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
    const send = (user: string, id: string) =>
      call(user, 'POST', '/ai-sdk/v1/echo', { id, message })
    const bob = await send('bob', 'bob/1')
    expect([bob.status, bob.text]).toEqual([200, expect.stringContaining('"delta":"Hello"')])
    expect((await send('ada', 'bob/1')).status).toBe(404)
    const chat = '/ai-sdk/v1/echo/bob%2F1'
    expect((await call('bob', 'GET', `${chat}/messages`)).text).toContain('Hello')
    expect((await call('ada', 'GET', `${chat}/messages`)).text).toBe('[]')
    expect((await call('ada', 'GET', `${chat}/stream`)).status).toBe(204)
    expect((await call('ada', 'POST', `${chat}/stop`)).status).toBe(204)
    const answer = { inputId: UNKNOWN_ID, value: 'x' }
    expect((await call('ada', 'POST', `${chat}/answer`, answer)).status).toBe(404)
  })

  it('has the same limits in the endpoint of MCP', async () => {
    const { call } = await twoUsers()
    const rpc = (user: string, method: string, params: object = {}) =>
      call(user, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method, params })
    const tool = async (user: string, name: string, fields: object) =>
      (await rpc(user, 'tools/call', { name, arguments: { agent: 'echo', ...fields } })).json.result
    const { tools } = (await rpc('ada', 'tools/list')).json.result
    expect(tools.map(({ name }: { name: string }) => name)).toEqual([
      'send_message',
      'get_message',
      'answer_input',
      'cancel_message',
    ])
    const bob = await tool('bob', 'send_message', { message: 'Hello' })
    const { agentId, messageId, sessionId } = bob.structuredContent
    expect(sessionId).toMatch(/^bob\/mcp-/)
    const foreign = [
      await tool('ada', 'send_message', { message: 'Hello', sessionId }),
      await tool('ada', 'get_message', { messageId }),
      await tool('ada', 'answer_input', { messageId, inputId: UNKNOWN_ID, value: 'x' }),
    ]
    for (const { isError, content } of foreign) {
      expect(isError).toBe(true)
      expect(content[0].text).toMatch(/^(session|message)_not_found/)
    }
    expect((await tool('bob', 'get_message', { messageId })).isError).toBeFalsy()
    const taskId = `${agentId}/${messageId}`
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
      const { body, headers } = modernRequest(method, { taskId }, capabilities)
      expect((await call('ada', 'POST', '/mcp', body, headers)).json.error.code).toBe(-32_602)
      expect((await call('bob', 'POST', '/mcp', body, headers)).json.error).toBeUndefined()
    }
  })

  it('has the same limits in the endpoint of A2A', async () => {
    const { call } = await twoUsers()
    const sendTo = (user: string, contextId?: string) =>
      call(user, 'POST', '/a2a/echo/message:send', {
        message: { role: 'ROLE_USER', messageId: 'm', contextId, parts: [{ text: 'Hello' }] },
      })
    const bob = await sendTo('bob')
    expect(bob.status).toBe(200)
    const { id, contextId } = bob.json.task
    expect(contextId).toMatch(/^bob\/a2a-/)
    expect((await sendTo('ada', contextId)).status).toBe(404)
    const path = `/a2a/echo/tasks/${id}`
    expect((await call('bob', 'GET', path)).status).toBe(200)
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', ':cancel'],
      ['POST', ':subscribe'],
    ] as const)
      expect([rest, (await call('ada', method, path + rest)).status]).toEqual([rest, 404])
    expect((await call('ada', 'GET', '/a2a/echo/tasks')).json.tasks ?? []).toEqual([])
    expect((await call('bob', 'GET', '/a2a/echo/tasks')).json.tasks).toHaveLength(1)
    const configs = `${path}/pushNotificationConfigs`
    expect((await call('bob', 'GET', configs)).status).toBe(403)
    const hook = { id: 'h', url: 'https://receiver.example/' }
    expect((await call('bob', 'POST', configs, hook)).status).toBe(403)
  })
})
