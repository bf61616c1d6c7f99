import { readBody } from './read-body.js'
import { checked, receive, type ReceiverOptions } from './receive.js'

/**
 * For hosts that speak Request and Response: Hono, Next.js, Workers, Deno, Bun.
 * @throws WebhookVerificationError at once when the secret is missing or malformed
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

/** What this needs of Node's `IncomingMessage`, and of what Express and others add to it. */
export type NodeRequest = AsyncIterable<Uint8Array | string> & {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  /** Of a body parser: `express.raw()` leaves the bytes here, `express.json()` an object, which is too late. */
  readonly body?: unknown
  /** Where some hosts keep the bytes beside what they parsed. */
  readonly rawBody?: unknown
}
export type NodeResponse = { statusCode: number; end(body?: string): unknown }

/**
 * For `node:http`, Express and Connect.
 * @throws WebhookVerificationError at once when the secret is missing or malformed
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

/** Not every host's streams can be iterated. */
async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) yield next.value
}
