import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OperatorError } from './operator-error.js'
import { printable } from './terminal.js'

export type ReceiverOptions = {
  /** The webhook's secret. Without a secret, signatures are not checked. */
  readonly secret?: string | undefined
  /** Status of the response to a valid delivery. Default: 200. An invalid one always gets 401. */
  readonly status?: number | undefined
  readonly onDelivery: (received: Received) => void
}

export type Received = {
  /** A few lines for a terminal. */
  readonly text: string
  /** True if the signatures were checked and are valid. */
  readonly isValid: boolean
  readonly deliveryId: string
}

const VALID = 'signature valid'
const INVALID = 'SIGNATURE INVALID for this secret'
const TOO_LONG = 'REJECTED: the body exceeds 8 MiB'
const UNCHECKED = 'signature not checked (no secret was given)'
const ERROR_STATUS: ReadonlyMap<string, number> = new Map([
  [INVALID, 401],
  [TOO_LONG, 413],
])
/** Larger than any delivery: an answer of a million characters has at most 6 MB as JSON. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** A webhook receiver for development. Checks the signatures of each delivery and describes it. */
export function createReceiver({ secret, status = 200, onDelivery }: ReceiverOptions): Server {
  return createServer((request, response) => {
    bodyOf(request).then(
      (body) => {
        const result = check(request.headers, body, secret)
        // Any web page in a local browser can send requests to this receiver.
        const text = printable(report(request.headers, body, result))
        const { delivery } = namedHeaders(request.headers)
        onDelivery({ text, isValid: result === VALID, deliveryId: delivery })
        response.writeHead(ERROR_STATUS.get(result) ?? status).end()
      },
      () => response.destroy(),
    )
  })
}

/** Listens on this machine. 0 picks a free port. Returns the URL. */
export async function listenOn(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new OperatorError(
      code === 'EADDRINUSE'
        ? `port ${port} is in use; choose another with --port`
        : `cannot listen on port ${port}: ${message}`,
    )
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function report(headers: IncomingHttpHeaders, body: Buffer | undefined, result: string): string {
  const time = new Date().toISOString().slice(11, 19)
  const { event, delivery } = namedHeaders(headers)
  const shown = body === undefined ? '' : `${pretty(body.toString())}\n`
  return `${time}  ${event}  delivery ${delivery}  ${result}\n${shown}`
}

/** Undefined if the body is too long. Reads it to the end, so that the sender gets the response. */
async function bodyOf(request: AsyncIterable<Buffer>): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length <= MAX_BODY_BYTES) chunks.push(chunk)
    else chunks.length = 0
  }
  return length <= MAX_BODY_BYTES ? Buffer.concat(chunks) : undefined
}

/** The headers whose prefix the sender's operator chooses. */
function namedHeaders(headers: IncomingHttpHeaders): {
  event: string
  delivery: string
  signature: string
} {
  const ending = 'signature'
  const found = Object.keys(headers).find(
    (name) => name.endsWith(`-${ending}`) && String(headers[name]).startsWith('sha256='),
  )
  const prefix = found?.slice(0, -ending.length)
  const read = (name: string): string => String(headers[`${prefix}${name}`] ?? '(none)')
  return { event: read('event'), delivery: read('delivery'), signature: read(ending) }
}

function check(
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
  secret: string | undefined,
): string {
  if (body === undefined) return TOO_LONG
  if (secret === undefined) return UNCHECKED
  return isGenuine(headers, body, secret) ? VALID : INVALID
}

/**
 * Checks both signatures over the raw body. The key of the first is the text of the secret.
 * The key of the second (Standard Webhooks) is the decoded secret, and it covers id and time too.
 * During a rotation, the first uses the old secret and there are two of the second. Then only the
 * second counts.
 */
function isGenuine(headers: IncomingHttpHeaders, body: Buffer, secret: string): boolean {
  const plain = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const head = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`
  const standard = `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`
  const given = String(headers['webhook-signature']).split(' ')
  const isRotating = given.length > 1
  return (
    (isRotating || equal(namedHeaders(headers).signature, plain)) &&
    given.some((one) => equal(one, standard))
  )
}

function equal(given: string, expected: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(expected)
  return a.length === b.length && timingSafeEqual(a, b)
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
