import { readBody } from './read-body.js'
import { checked, receive, type ReceiverOptions } from './receive.js'

/**
 * Creates a handler for hosts with Request and Response: Hono, Next.js, Workers, Deno, Bun.
 * @throws WebhookVerificationError if the secret is missing or malformed
 */
export function webhookHandler(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const settings = checked(options)
  return async (request) => {
    const length = Number(request.headers.get('content-length'))
    const read = () =>
      request.bodyUsed ? undefined : readBody(piecesOf(request), length, settings.maxBodyBytes)
    const { status, body } = await receive(settings, read, request.headers)
    return new Response(body, { status })
  }
}

/** The used fields of Node's `IncomingMessage`, and the fields that Express and other hosts add. */
export type NodeRequest = AsyncIterable<Uint8Array | string> & {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** Set by a body parser. `express.raw()` keeps the bytes. `express.json()` loses them. */
  readonly body?: unknown
  /** Some hosts keep the bytes here, besides the parsed body. */
  readonly rawBody?: unknown
}
export type NodeResponse = { statusCode: number; end(body?: string): unknown }

/**
 * Creates a handler for `node:http`, Express and Connect.
 * @throws WebhookVerificationError if the secret is missing or malformed
 */
export function nodeWebhookHandler(
  options: ReceiverOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const settings = checked(options)
  return async (request, response) => {
    const length = Number(request.headers['content-length'])
    const read = () =>
      request.rawBody ?? request.body ?? readBody(request, length, settings.maxBodyBytes)
    const { status, body } = await receive(settings, read, request.headers)
    response.statusCode = status
    response.end(body)
  }
}

/** Reads with a reader, because not every host's streams are iterable. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) yield next.value
}
