import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Role, TaskState, type AgentCard, type Message, type Part } from '@a2a-js/sdk'
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'

/** An A2A agent of the protocol's SDK. Each message selects its behaviour. */
export type SdkAgent = {
  readonly url: string
  /** All received messages, in order. */
  readonly received: readonly Message[]
  /** The ids of cancelled tasks. */
  readonly cancelled: readonly string[]
  /** The headers of all requests, in order. */
  readonly headers: readonly IncomingMessage['headers'][]
  /** Lets all tasks for `wait` end. */
  release(): void
  /** Answers the next `times` requests with this status and body. */
  refuse(status: number, times: number, body?: string): void
  /** Drops all tasks, as after a restart. */
  forget(): void
  /** Changes the endpoint in its card. */
  moveTo(endpoint: string): void
  close(): Promise<void>
}

/** `data:` starts the JSON of a data part, `url:` the URL of a file, and `raw:` its bytes. */
const partOf = (words: string): Part => {
  const [, kind, value = ''] = /^(data|url|raw):(.*)$/s.exec(words) ?? []
  const plain = { metadata: undefined, filename: '', mediaType: '' }
  if (kind === 'url') return { ...plain, content: { $case: 'url', value }, filename: 'a.bin' }
  if (kind === 'raw') {
    const content = { $case: 'raw' as const, value: Buffer.from(value) }
    return { ...plain, content, mediaType: 'image/png' }
  }
  if (kind === undefined)
    return { ...plain, content: { $case: 'text', value: words }, mediaType: 'text/plain' }
  const data = JSON.parse(value) as { metadata?: Part['metadata'] } | null
  const { metadata } = data ?? {}
  return {
    ...plain,
    content: { $case: 'data', value: data },
    metadata,
    mediaType: 'application/json',
  }
}

type SdkAgentOptions = {
  /** The endpoint in its card. */
  readonly endpoint?: string
  /** The agent's card, instead of a card of A2A 1.0. */
  readonly card?: (url: string) => object
  /** Speaks A2A 0.3. */
  readonly isLegacy?: boolean
}

export async function startSdkAgent({
  endpoint,
  card: ownCard = cardOf,
  isLegacy = false,
}: SdkAgentOptions = {}): Promise<SdkAgent> {
  const received: Message[] = []
  const cancelled: string[] = []
  const headers: IncomingMessage['headers'][] = []
  let released = (): void => undefined
  const release = new Promise<void>((resolve) => (released = resolve))
  let refusal = { status: 0, times: 0, body: '' }

  const executor: AgentExecutor = {
    execute: async (context, bus) => {
      received.push(context.userMessage)
      await perform(context, bus, release)
      bus.finished()
    },
    cancelTask: async (taskId, bus) => {
      cancelled.push(taskId)
      status(bus, { taskId, contextId: '' }, TaskState.TASK_STATE_CANCELED)
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    headers.push(request.headers)
    const body = await bodyOf(request)
    if (refusal.times > 0) {
      refusal.times--
      response.writeHead(refusal.status).end(refusal.body)
      return
    }
    const result =
      request.method === 'GET' ? card : await rpc.handle(body, new ServerCallContext({}))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agents/one`
  let card = ownCard(endpoint ?? url)
  const Handler = isLegacy ? LegacyJsonRpcTransportHandler : JsonRpcTransportHandler
  const handler = () =>
    new Handler(new DefaultRequestHandler(cardOf(url), new InMemoryTaskStore(), executor))
  let rpc = handler()
  return {
    url,
    received,
    cancelled,
    headers,
    release: () => released(),
    refuse: (code, times, responseBody = 'refused') => {
      refusal = { status: code, times, body: responseBody }
    },
    forget: () => {
      rpc = handler()
    },
    moveTo: (elsewhere) => {
      card = ownCard(elsewhere)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function perform(
  context: RequestContext,
  bus: ExecutionEventBus,
  release: Promise<void>,
): Promise<void> {
  const { userMessage, taskId, contextId, task } = context
  const said = userMessage.parts
    .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
    .join('')
  const at = { taskId, contextId }
  if (said.startsWith('reply ')) {
    bus.publish(AgentEvent.message(agentMessage(at, said.slice(6))))
    return
  }
  bus.publish(
    AgentEvent.task(
      task ?? {
        id: taskId,
        contextId,
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
        status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined },
      },
    ),
  )
  status(bus, at, TaskState.TASK_STATE_WORKING)
  if (said.startsWith('wait')) await release
  const [state, words] = endOf(said)
  if (state === TaskState.TASK_STATE_COMPLETED) {
    for (const part of words.split('|')) {
      const artifact = {
        artifactId: randomUUID(),
        name: '',
        description: '',
        parts: [partOf(part)],
        metadata: undefined,
        extensions: [],
      }
      bus.publish(
        AgentEvent.artifactUpdate({
          ...at,
          artifact,
          append: false,
          lastChunk: true,
          metadata: undefined,
        }),
      )
    }
  }
  status(bus, at, state, words)
}

function endOf(said: string): [TaskState, string] {
  const [verb, ...rest] = said.split(' ')
  const words = rest.join(' ')
  if (verb === 'ask') return [TaskState.TASK_STATE_INPUT_REQUIRED, words]
  if (verb === 'fail') return [TaskState.TASK_STATE_FAILED, words]
  if (verb === 'reject') return [TaskState.TASK_STATE_REJECTED, words]
  if (verb === 'login') return [TaskState.TASK_STATE_AUTH_REQUIRED, words]
  if (verb === 'silent') return [TaskState.TASK_STATE_FAILED, '']
  return [TaskState.TASK_STATE_COMPLETED, said]
}

type Place = { readonly taskId: string; readonly contextId: string }

const agentMessage = ({ taskId, contextId }: Place, words: string): Message => ({
  messageId: randomUUID(),
  contextId,
  taskId,
  role: Role.ROLE_AGENT,
  parts: [partOf(words)],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
})

function status(bus: ExecutionEventBus, at: Place, state: TaskState, words = ''): void {
  const message = words === '' ? undefined : agentMessage(at, words)
  bus.publish(
    AgentEvent.statusUpdate({
      ...at,
      status: { state, message, timestamp: undefined },
      metadata: undefined,
    }),
  )
}

const cardOf = (url: string): AgentCard => ({
  name: 'test agent',
  description: 'for tests',
  version: '1',
  provider: undefined,
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  capabilities: { streaming: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  skills: [],
  signatures: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
})

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
