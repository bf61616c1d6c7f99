import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

type ChatRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body of a POST. */
  readonly body?: {
    model: string
    messages: { role: string; content: string }[]
    stream: boolean
  } & Record<string, unknown>
}

/** Responds to one request. `last` is the text of its newest message. */
type Behaviour = (response: ServerResponse, last: string) => void

/**
 * An OpenAI-compatible server with one behaviour per model: `parrot`, and the test's own models.
 * `GET /v1/models` returns 401, like a server whose key is limited to chat.
 */
export async function chatServer(models: Record<string, Behaviour> = {}) {
  const requests: ChatRequest[] = []
  const server = createServer((request, response) => void answer(request, response))

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const { method = '', url: path = '', headers } = request
    const body =
      method === 'POST' ? (JSON.parse(text) as NonNullable<ChatRequest['body']>) : undefined
    requests.push({ method, path, headers, ...(body && { body }) })
    if (!body) return json(response, { error: { message: 'no such key' } }, 401)
    const last = body.messages.at(-1)?.content ?? ''
    const behaviour = { ...models, parrot: body.stream ? streaming : whole }[body.model]
    return behaviour
      ? behaviour(response, last)
      : json(response, { error: { message: `no model ${body.model}` } }, 404)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    openConnections: () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** Sends these texts as an event stream. */
export const events =
  (...texts: readonly string[]): Behaviour =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const text of texts) response.write(text)
    response.end()
  }

/** One event in OpenAI's format. */
export const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

export const DONE = 'data: [DONE]\n\n'

/** A whole completion in one piece. */
export const completion = (message: object, finish_reason: string | null = 'stop') => ({
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
})

const whole: Behaviour = (response, last) =>
  json(response, completion({ content: `You say: ${last}` }))

const streaming: Behaviour = (response, last) =>
  events(
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'You say: ' }),
    chunk({ content: last }),
    chunk({}, 'stop'),
    DONE,
  )(response, last)
