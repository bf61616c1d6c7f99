import {
  createService,
  functionRuntime,
  PERMISSIONS,
  type Permission,
  type Policy,
} from '@org/agent-messaging-core'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import OpenAI from 'openai'
import { createOpenAiEndpoint, type OpenAiEndpointOptions } from '../src/index.js'

/**
 * Opens the endpoint over a service made of fakes, with one project. The agent `echo` answers at
 * once, and `asking` asks before it answers. The test answers the agent `slow`. The client is the
 * official one.
 */
export async function openScene(
  options: Partial<OpenAiEndpointOptions> = {},
  policy: Partial<Policy> = {},
) {
  const platform = fakePlatform()
  const echo = functionRuntime({
    echo: ({ message }) => message,
    counting: ({ message, reportUsage }) => {
      reportUsage({ inputTokens: 12, outputTokens: 3 })
      return message
    },
    fail: () => Promise.reject(new Error('told to fail')),
  })
  const asking = fakeRuntime({
    kind: 'asking',
    handler: ({ inputs = [] }) =>
      inputs.length === 0
        ? { kind: 'input_required', question: 'Pay?', options: ['yes', 'no'] }
        : { kind: 'answered', response: `Paid: ${JSON.stringify(inputs[0]?.value)}` },
  })
  const service = createService({ ...platform, runtimes: [platform.runtime, echo, asking], policy })
  await service.start()
  const projectOf = async (name: string) => (await service.projects.create({ name })).id
  const projectId = await projectOf('a project')
  const keyWith = async (permissions: readonly Permission[], of = projectId) =>
    (await service.keys.create({ projectId: of, name: 'a key', permissions })).key
  const agentWith = async (name: string, settings: object) =>
    (
      await service.agents.create({
        projectId,
        name,
        desiredState: 'running',
        runtime: { kind: 'function', handler: 'echo' },
        ...settings,
      })
    ).agent
  await agentWith('echo', {})
  await agentWith('failing', { runtime: { kind: 'function', handler: 'fail' }, maxAttempts: 1 })
  await agentWith('counting', { runtime: { kind: 'function', handler: 'counting' } })
  await agentWith('asking', { runtime: { kind: 'asking' } })
  await agentWith('slow', { runtime: { kind: 'fake' } })
  const key = await keyWith(PERMISSIONS)
  const otherKey = await keyWith(PERMISSIONS, await projectOf('another project'))

  let ids = 0
  const app = createOpenAiEndpoint({
    service,
    crypto: platform.crypto,
    newId: () => `id-${++ids}`,
    now: () => platform.clock.elapsed(),
    ...options,
  })
  const clientOf = (apiKey: string): OpenAI =>
    new OpenAI({
      apiKey,
      baseURL: 'http://service.test/openai/v1',
      maxRetries: 0,
      fetch: async (url, init) => app.request(new Request(url, init)),
    })
  const client = clientOf(key)
  /** Sends a body that the client's types do not allow. Returns the error object. */
  const refusalOf = async (path: string, body: object): Promise<[number, object]> => {
    const response = await app.request(`/openai/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { error } = (await response.json()) as { error: object }
    return [response.status, error]
  }
  const messagesOf = async (agent: string) =>
    (await service.messages.list({ projectId, agent, order: 'asc', limit: 100 })).data
  return {
    ...platform,
    app,
    client,
    clientOf,
    key,
    keyWith,
    otherKey,
    projectId,
    service,
    agentWith,
    messagesOf,
    refusalOf,
  }
}
