import {
  createService,
  functionRuntime,
  PERMISSIONS,
  type AgentFunction,
  type Permission,
  type Policy,
} from '@org/agent-messaging-core'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import { expect } from 'vitest'
import type { EndpointOptions } from '@org/agent-messaging-http-kit'
import { createAgUiEndpoint } from '../src/index.js'
import { expectRun, type Event } from './protocol.js'

type Functions = Readonly<Record<string, AgentFunction>>

/**
 * Opens the endpoint over a service made of fakes, with one project. The agent `echo` answers at
 * once, and `asking` asks before it answers. The test answers the agent `slow`. `agents` are
 * functions.
 */
export async function openScene(
  agents: Functions = {},
  options: Partial<EndpointOptions> = {},
  policy: Partial<Policy> = {},
) {
  const platform = fakePlatform()
  const functions: Functions = {
    echo: ({ message }) => message,
    fail: () => Promise.reject(new Error('told to fail')),
    async *asking({ message, ask }) {
      yield 'Void text.'
      const answer = await ask(`${message}?`, { options: ['yes', 'no'] })
      yield `You said ${answer}.`
    },
    ...agents,
  }
  const textOnly = fakeRuntime({ kind: 'text', accepts: () => 'is not supported' })
  const runtimes = [platform.runtime, functionRuntime(functions), textOnly]
  const service = createService({ ...platform, runtimes, policy })
  await service.start()
  const projectId = (await service.projects.create({ name: 'a project' })).id
  const keyWith = async (permissions: readonly Permission[]) =>
    (await service.keys.create({ projectId, name: 'a key', permissions })).key
  const agentWith = (name: string, runtime: { kind: string; handler?: string }) =>
    service.agents.create({ projectId, name, desiredState: 'running', maxAttempts: 2, runtime })
  for (const handler of Object.keys(functions))
    await agentWith(handler, { kind: 'function', handler })
  await agentWith('slow', { kind: 'fake' })
  await agentWith('text', { kind: 'text' })
  const key = await keyWith(PERMISSIONS)

  let ids = 0
  const app = createAgUiEndpoint({
    service,
    crypto: platform.crypto,
    newId: () => `id-${++ids}`,
    now: () => platform.clock.elapsed(),
    ...options,
  })
  const post = async (path: string, body: unknown, token = key): Promise<Response> =>
    app.request(`/ag-ui/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  /** Returns the status and the error of a request. */
  const refusalOf = async (path: string, body: unknown, token = key): Promise<unknown[]> => {
    const answer = await post(path, body, token)
    const { error } = (await answer.json()) as { error: object }
    return [answer.status, error]
  }
  /** Returns the events of a whole run. */
  const run = async (path: string, body: unknown, token = key): Promise<Event[]> => {
    const reading = readerOf(await post(path, body, token)).all()
    let isOver = false
    void reading.finally(() => (isOver = true)).catch(() => undefined)
    // A change between the read of a message and the start of its stream is seen by the next poll.
    const tick = async () => {
      if (!isOver) await platform.clock.advance(1_000)
      return isOver
    }
    await expect.poll(tick, { interval: 1 }).toBe(true)
    return reading
  }
  const messagesOf = async (agent: string) =>
    (await service.messages.list({ projectId, agent, order: 'asc', limit: 100 })).data
  return {
    ...platform,
    app,
    key,
    keyWith,
    messagesOf,
    post,
    projectId,
    refusalOf,
    run,
    service,
  }
}

/** Reads a stream step by step. */
export function readerOf({ body }: Response) {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  const events: Event[] = []
  let text = ''
  const until = async (isLast: (event: Event) => boolean): Promise<Event[]> => {
    while (!events.some(isLast)) {
      const next = await reader?.read()
      if (next?.value === undefined) break
      const frames = (text + next.value).split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames)
        if (frame.startsWith('data: ')) events.push(JSON.parse(frame.slice(6)) as Event)
    }
    return events
  }
  const all = async (): Promise<Event[]> => {
    expectRun(await until(() => false))
    return events
  }
  return { until, all, leave: () => reader?.cancel() }
}

/** A run that says a text. */
export const saying = (content: unknown, more: object = {}) => ({
  threadId: 't-1',
  runId: 'r-1',
  messages: [{ id: `m of ${String(content)}`, role: 'user', content }],
  ...more,
})

export const typesOf = (events: readonly Event[]): string[] => events.map(({ type }) => type)

/** Returns the messages that a client has after the events, as role, content and id. */
export function shownAfter(events: readonly Event[]): unknown[][] {
  const shown = new Map<unknown, unknown[]>()
  for (const event of events) {
    const { type, messageId, role, delta, toolCallId, toolCallName, content } = event
    if (type === 'MESSAGES_SNAPSHOT') {
      shown.clear()
      for (const message of event['messages'] as Message[])
        shown.set(message.id, [
          message.role,
          message.content ?? message.toolCalls?.[0]?.function.name,
        ])
    }
    if (type === 'TEXT_MESSAGE_START' || type === 'REASONING_MESSAGE_START')
      shown.set(messageId, [role, ''])
    if (type === 'TEXT_MESSAGE_CONTENT' || type === 'REASONING_MESSAGE_CONTENT') {
      const [of, text] = shown.get(messageId) ?? []
      shown.set(messageId, [of, `${String(text)}${String(delta)}`])
    }
    if (type === 'TOOL_CALL_START') shown.set(toolCallId, ['assistant', toolCallName])
    if (type === 'TOOL_CALL_RESULT') shown.set(messageId, ['tool', content])
  }
  return [...shown.values()]
}

type Message = {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly toolCalls?: readonly { readonly function: { readonly name: string } }[]
}
