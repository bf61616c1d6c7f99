import type { AddressInfo } from 'node:net'
import { TaskState, type SendMessageConfiguration, type SendMessageRequest } from '@a2a-js/sdk'
import {
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
  DefaultAgentCardResolver,
} from '@a2a-js/sdk/client'
import { serve } from '@hono/node-server'
import {
  createService,
  defaultPolicy,
  functionRuntime,
  PERMISSIONS,
  type Permission,
  type Policy,
} from '@org/agent-messaging-core'
import type { AgentRuntime } from '@org/agent-messaging-core/runtime'
import type { ChunkRelay } from '@org/agent-messaging-core/storage'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import { onTestFinished } from 'vitest'
import { createA2aEndpoint } from '../src/index.js'

export const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const
export type Binding = (typeof BINDINGS)[number]

/** Returns a client of the official SDK that uses one binding. */
export async function connect(url: string, key: string, binding: Binding): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${key}`)
    return fetch(input, { ...init, headers })
  }
  const cardResolver = new DefaultAgentCardResolver({ fetchImpl })
  const Transport = binding === 'JSONRPC' ? JsonRpcTransportFactory : RestTransportFactory
  const factory = new ClientFactory({ transports: [new Transport({ fetchImpl })], cardResolver })
  return factory.createFromUrl(`${url}/`)
}

/**
 * Serves the endpoint over a service made of fakes, with one project. The agent `echo` answers at
 * once. The test answers the agent `slow`. The agent `private` is not published.
 */
export async function openScene(policy: Partial<Policy> = {}, ports: { relay?: ChunkRelay } = {}) {
  const platform = { ...fakePlatform(), policy: { ...defaultPolicy, ...policy }, ...ports }
  const functions = functionRuntime({
    echo: ({ message }) => message,
    fail: () => Promise.reject(new Error('told to fail')),
  })
  const accepts: AgentRuntime['accepts'] = ({ type }) =>
    type === 'file' ? 'is too large' : undefined
  const picky = fakeRuntime({ kind: 'picky', accepts })
  const service = createService({ ...platform, runtimes: [platform.runtime, functions, picky] })
  await service.start()
  const projectOf = async (name: string) => (await service.projects.create({ name })).id
  const projectId = await projectOf('a project')
  const createKey = async (permissions: readonly Permission[], of = projectId) =>
    await service.keys.create({ projectId: of, name: 'a key', permissions })
  const keyWith = async (permissions: readonly Permission[], of = projectId) =>
    (await createKey(permissions, of)).key
  const agentWith = async (name: string, settings: object) =>
    (
      await service.agents.create({
        projectId,
        name,
        runtime: { kind: 'function', handler: 'echo' },
        a2a: { enabled: true },
        ...settings,
      })
    ).agent
  const skill = { id: 'repeat', name: 'Repeat', description: 'Repeats a text', tags: ['text'] }
  await agentWith('echo', {
    a2a: { enabled: true, description: 'Repeats your words', skills: [skill] },
  })
  await agentWith('failing', { runtime: { kind: 'function', handler: 'fail' }, maxAttempts: 1 })
  await agentWith('slow', { runtime: { kind: 'fake' } })
  await agentWith('private', { a2a: { enabled: false } })
  await agentWith('for-users', { defaultExecutionPrincipal: { type: 'end_user' } })
  const key = await keyWith(PERMISSIONS)
  const otherKey = await keyWith(PERMISSIONS, await projectOf('another project'))

  const errors: unknown[] = []
  let ids = 0
  const app = createA2aEndpoint({
    service,
    crypto: platform.crypto,
    newId: () => `id-${++ids}`,
    now: () => platform.clock.elapsed(),
    onError: (error) => void errors.push(error),
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(async () => {
    await service.stop({ graceMs: 0 })
    if ('closeAllConnections' in server) server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a2a`
  const clientOf = (agent: string, binding: Binding, as = key) =>
    connect(`${url}/${agent}`, as, binding)
  /** Sends a request that the client's types do not allow. */
  const request = async (path: string, { body, headers = {}, method = 'POST' }: Raw = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
      }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: jsonOf(text) }
  }
  const messagesOf = async (agent: string) =>
    (await service.messages.list({ projectId, agent, order: 'asc', limit: 100 })).data
  return {
    ...platform,
    agentWith,
    app,
    clientOf,
    createKey,
    errors,
    key,
    keyWith,
    messagesOf,
    otherKey,
    projectId,
    request,
    service,
    url,
  }
}

type Raw = {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly method?: string
}

// oxlint-disable-next-line typescript/no-explicit-any
function jsonOf(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

let messages = 0

/** A request that sends one text. */
export function asking(
  text: string,
  {
    configuration,
    ...message
  }: {
    readonly configuration?: Partial<SendMessageConfiguration>
    readonly messageId?: string
    readonly contextId?: string
    readonly taskId?: string
    readonly metadata?: Record<string, unknown>
  } = {},
): SendMessageRequest {
  return {
    tenant: '',
    message: {
      messageId: `message-${++messages}`,
      contextId: '',
      taskId: '',
      role: 1,
      parts: [partOf({ $case: 'text', value: text })],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...message,
    },
    configuration: configuration && {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  }
}

type Content = NonNullable<NonNullable<SendMessageRequest['message']>['parts'][number]['content']>

export const partOf = (content: Content) => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType: '',
})

export const LIST_ALL = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
}
