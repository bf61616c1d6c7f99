import { setImmediate } from 'node:timers/promises'
import {
  createService,
  functionRuntime,
  PERMISSIONS,
  type AgentFunction,
  type Permission,
} from '@org/agent-messaging-core'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import { createAiSdkEndpoint } from '../src/index.js'

export type Chunk = Readonly<Record<string, unknown>> & { readonly type: string }

const textOnly = () => 'is not supported: the agent takes text only'

type Sent = { chat?: string; id?: string; trigger?: string; messageId?: string }

/**
 * Opens the endpoint over a service made of fakes, with one project. The test answers the agents
 * `slow`, and `texts`, which takes text only. `functions` run the other agents.
 */
export async function openScene(
  functions: Readonly<Record<string, AgentFunction>> = {},
  onError?: (error: unknown) => void,
) {
  const platform = fakePlatform()
  const echo: AgentFunction = ({ message }) => message
  const handlers = { echo, ...functions }
  const texts = fakeRuntime({ kind: 'texts', accepts: textOnly })
  const runtimes = [platform.runtime, functionRuntime(handlers), texts]
  const service = createService({ ...platform, runtimes })
  await service.start()
  const projectId = (await service.projects.create({ name: 'a project' })).id
  const keyWith = async (permissions: readonly Permission[]) =>
    (await service.keys.create({ projectId, name: 'a key', permissions })).key
  const agentWith = (name: string, runtime: object) =>
    service.agents.create({
      projectId,
      name,
      desiredState: 'running',
      maxAttempts: 2,
      runtime: runtime as { kind: string },
    })
  for (const name of Object.keys(handlers))
    await agentWith(name, { kind: 'function', handler: name })
  await agentWith('slow', { kind: 'fake' })
  await agentWith('texts', { kind: 'texts' })
  const key = await keyWith(PERMISSIONS)

  let ids = 0
  const app = createAiSdkEndpoint({
    service,
    crypto: platform.crypto,
    newId: () => `id-${++ids}`,
    now: () => platform.clock.elapsed(),
    onError,
  })
  const ask = async (method: string, path: string, body?: unknown, token = key) =>
    app.request(`/ai-sdk/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  /** Sends the message of a chat, as `useChat` does. */
  const send = (agent: string, text: string, { chat = 'chat-1', id = text, ...more }: Sent = {}) =>
    ask('POST', agent, { ...chatOf(chat, [said(id, text)]), ...more })
  /** Reads a whole stream. The service looks for an answer that came before the stream. */
  const read = async (response: Response) => {
    let isOver = false
    const reading = chunksOf(response).finally(() => (isOver = true))
    while (!isOver) {
      await platform.clock.advance(100)
      await setImmediate()
    }
    return reading
  }
  const messagesOf = async (agent: string) =>
    (await service.messages.list({ projectId, agent, order: 'asc', limit: 100 })).data
  return { ...platform, app, ask, key, keyWith, messagesOf, projectId, read, send, service, texts }
}

export const said = (id: string, text: string) => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
})

export const chatOf = (id: string, messages: readonly object[]) => ({
  id,
  messages,
  trigger: 'submit-message',
})

/** Reads the chunks of a stream one after another. The last one is `[DONE]`. */
export function readerOf(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let place = 0
  const chunks = (): Chunk[] =>
    text
      .split('\n\n')
      .slice(0, -1)
      .filter((frame) => !frame.startsWith(':'))
      .map((frame) => frame.slice('data: '.length))
      .map((data) => (data === '[DONE]' ? { type: '[DONE]' } : (JSON.parse(data) as Chunk)))
  /** Reads until a chunk that was not read before has this type. */
  const until = async (type: string): Promise<Chunk[]> => {
    for (;;) {
      const all = chunks()
      const found = all.findIndex((chunk, at) => at >= place && chunk.type === type)
      if (found !== -1) {
        place = found + 1
        return all
      }
      const next = await reader?.read()
      if (!next || next.done) throw new Error(`no chunk ${type} in ${text}`)
      text += next.value
    }
  }
  return { until, all: () => until('[DONE]'), leave: () => reader?.cancel() }
}

export const chunksOf = (response: Response): Promise<Chunk[]> => readerOf(response).all()

export const textIn = (chunks: readonly Chunk[]): string =>
  chunks.map(({ type, delta }) => (type === 'text-delta' ? String(delta) : '')).join('')

export const typesOf = (chunks: readonly Chunk[]): string[] => chunks.map(({ type }) => type)
