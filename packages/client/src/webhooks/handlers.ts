import { checked, receive, type ReceiverOptions } from './receive.js'

/**
 * For hosts that speak Request and Response: Hono, Next.js, Workers, Deno, Bun.
 * @throws WebhookVerificationError at once when the secret is missing or malformed
 */
export function webhookHandler(options: ReceiverOptions): (request: Request) => Promise<Response> {
  const settings = checked(options)
  return async (request) => {
    const rawBody = request.bodyUsed ? undefined : await request.arrayBuffer()
    const { status, body } = await receive(settings, rawBody, request.headers)
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
export function nodeWebhookHandler(options: ReceiverOptions): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const settings = checked(options)
  return async (request, response) => {
    const rawBody = request.rawBody ?? request.body ?? (await bytesOf(request))
    const { status, body } = await receive(settings, rawBody, request.headers)
    response.statusCode = status
    response.end(body)
  }
}

async function bytesOf(request: NodeRequest): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of request) chunks.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk)
  } catch {
    return undefined
  }
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
