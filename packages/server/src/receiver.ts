import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { harmless } from './harmless.js'

export type ReceiverOptions = {
  /** The webhook's secret, as create or rotate showed it; without it signatures are not checked. */
  readonly secret?: string | undefined
  /** What genuine deliveries are answered with; 200 unless given. Forged ones get 401, as from any receiver. */
  readonly status?: number | undefined
  /** Gets a few lines for each delivery. */
  readonly print: (lines: string) => void
}

const WRONG = 'SIGNATURE WRONG for this secret'
const TOO_LONG = 'REFUSED: it has more than 8 MiB'
const UNCHECKED = 'signature not checked (no secret is given)'
const REFUSALS: ReadonlyMap<string, number> = new Map([
  [WRONG, 401],
  [TOO_LONG, 413],
])
/** More than a server ever sends: an answer of a million characters has six million bytes as JSON, at most. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** A receiver of webhooks for development: prints each delivery with the verdict on its signatures. */
export function createReceiver({ secret, status = 200, print }: ReceiverOptions): Server {
  return createServer((request, response) => {
    bodyOf(request).then(
      (body) => {
        const { event, delivery } = namedHeaders(request.headers)
        const verdict =
          body === undefined
            ? TOO_LONG
            : secret === undefined
              ? UNCHECKED
              : verdictOn(request.headers, body, secret)
        // Any page in a browser of this machine can send something here.
        const shown = body === undefined ? '' : `${pretty(body.toString())}\n`
        print(
          harmless(
            `${new Date().toISOString().slice(11, 19)}  ${event}  delivery ${delivery}  ${verdict}\n${shown}`,
          ),
        )
        response.writeHead(REFUSALS.get(verdict) ?? status).end()
      },
      () => response.destroy(),
    )
  })
}

/** Undefined for one that is too long. It is read to its end all the same, so that its sender gets the answer. */
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

/** The prefix of these three is the choice of the sender's operator. */
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

/**
 * Checks both signatures as any receiver would: over the bytes as they came, before anything parses them. One is keyed with
 * the secret's characters; the other, of Standard Webhooks, with its decoded bytes, and covers the id and the time too. Two of the latter
 * come while a rotation goes on: the former is then keyed with the old secret, and ours may be the new one.
 */
function verdictOn(headers: IncomingHttpHeaders, body: Buffer, secret: string): string {
  const plain = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const head = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`
  const standard = `v1,${createHmac('sha256', key).update(head).update(body).digest('base64')}`
  const given = String(headers['webhook-signature']).split(' ')
  const isRotating = given.length > 1
  const isGood =
    (isRotating || equal(namedHeaders(headers).signature, plain)) &&
    given.some((one) => equal(one, standard))
  return isGood ? 'signature valid' : WRONG
}

function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
