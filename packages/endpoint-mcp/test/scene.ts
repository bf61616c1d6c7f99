import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { serve } from '@hono/node-server'
import {
  createService,
  functionRuntime,
  PERMISSIONS,
  type Permission,
  type Policy,
} from '@org/agent-messaging-core'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import { onTestFinished } from 'vitest'
import { createMcpEndpoint, type McpEndpointOptions } from '../src/index.js'

/** The revisions of MCP, by the requests of their clients. */
export const ERAS = ['legacy', 'modern'] as const
export type Era = (typeof ERAS)[number]
export const MODERN = '2026-07-28'

/** Answers a form: with values, or with the user's refusal. */
export type User = (message: string) => Record<string, unknown> | 'decline' | 'cancel'

type Connection = {
  readonly key: string
  readonly era: Era
  readonly user?: User | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** Connects the official client. With a user, the client can show forms. */
export async function connect(url: string, { key, era, user, fetch }: Connection): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode: era === 'modern' ? { pin: MODERN } : 'legacy' },
      ...(user && { capabilities: { elicitation: { form: {} } } }),
    },
  )
  if (user)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const given = user(params.message)
      return typeof given === 'string'
        ? { action: given }
        : { action: 'accept', content: given as Record<string, string> }
    })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const options = { requestInit, ...(fetch && { fetch }) }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), options))
  return client
}

/**
 * Serves the endpoint over a service made of fakes, with one project. The agent `echo` answers at
 * once, and `asking` asks before it answers. The test answers the agent `slow`.
 */
export async function openScene(
  options: Partial<McpEndpointOptions> = {},
  policy: Partial<Policy> = {},
) {
  const platform = fakePlatform()
  const functions = functionRuntime({
    echo: ({ message }) => message,
    fail: () => Promise.reject(new Error('told to fail')),
  })
  const asking = fakeRuntime({
    kind: 'asking',
    handler: ({ inputs = [] }) =>
      inputs.length === 0
        ? { kind: 'input_required', question: 'Pay?', options: ['yes', 'no'] }
        : { kind: 'answered', response: `Paid: ${JSON.stringify(inputs[0]?.value)}` },
  })
  const runtimes = [platform.runtime, functions, asking]
  const service = createService({ ...platform, runtimes, policy })
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
        ...settings,
      })
    ).agent
  await agentWith('echo', { a2a: { enabled: true, description: 'Repeats your words' } })
  await agentWith('failing', { runtime: { kind: 'function', handler: 'fail' }, maxAttempts: 1 })
  await agentWith('asking', { runtime: { kind: 'asking' } })
  await agentWith('slow', { runtime: { kind: 'fake' } })
  await agentWith('for-users', { defaultExecutionPrincipal: { type: 'end_user' } })
  const key = await keyWith(PERMISSIONS)
  const otherKey = await keyWith(PERMISSIONS, await projectOf('another project'))

  const errors: unknown[] = []
  let ids = 0
  const app = createMcpEndpoint({
    service,
    crypto: platform.crypto,
    newId: () => `id-${++ids}`,
    now: () => platform.clock.elapsed(),
    onError: (error) => void errors.push(error),
    ...options,
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(async () => {
    await service.stop({ graceMs: 0 })
    if ('closeAllConnections' in server) server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const clientOf = (era: Era, { key: as = key, user }: { key?: string; user?: User } = {}) =>
    connect(url, { key: as, era, user })
  /** Sends a request that the client does not make. */
  const request = async (body: unknown, headers: Record<string, string> = {}, method = 'POST') => {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text }
  }
  const messagesOf = async (agent: string) =>
    (await service.messages.list({ projectId, agent, order: 'asc', limit: 100 })).data
  return {
    ...platform,
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

/** Calls a tool, and returns the parts of its result. */
export async function callTool(client: Client, name: string, input: Record<string, unknown>) {
  const {
    content,
    isError = false,
    structuredContent,
  } = await client.callTool({
    name,
    arguments: input,
  })
  const texts = content.map((part) => (part.type === 'text' ? part.text : part.type))
  return { isError, output: structuredContent as Record<string, unknown> | undefined, texts }
}

/** A call of a tool without the handshake, as a request of the earlier revisions. */
export const legacyCall = (name: string, input: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
})

/** A request of revision 2026-07-28, with its headers. */
export function modernRequest(
  method: string,
  params: Readonly<Record<string, unknown>>,
  capabilities: object,
  meta: object = {},
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...meta,
  }
  const name = params['name'] ?? params['taskId']
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': encoded(name) }),
  }
  return { body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers }
}

/** A name that no header can have is sent in base64. */
const encoded = (name: string): string =>
  /^[!-~]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
