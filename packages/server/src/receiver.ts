import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
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

/** A receiver of webhooks for development: prints each delivery with the verdict on its signatures. */
export function createReceiver({ secret, status = 200, print }: ReceiverOptions): Server {
  return createServer((request, response) => {
    buffer(request).then(
      (body) => {
        const { event, delivery } = namedHeaders(request.headers)
        const verdict = secret === undefined ? 'signature not checked (no secret is given)' : verdictOn(request.headers, body, secret)
        const isForged = verdict === WRONG
        // Any page in a browser of this machine can send something here.
        print(
          harmless(`${new Date().toISOString().slice(11, 19)}  ${event}  delivery ${delivery}  ${verdict}\n${pretty(body.toString())}\n`),
        )
        response.writeHead(isForged ? 401 : status).end()
      },
      () => response.destroy(),
    )
  })
}

/** The prefix of these three is the choice of the sender's operator. */
function namedHeaders(headers: IncomingHttpHeaders): { event: string; delivery: string; signature: string } {
  const ending = 'signature'
  const found = Object.keys(headers).find((name) => name.endsWith(`-${ending}`) && String(headers[name]).startsWith('sha256='))
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
  const isGood = (isRotating || equal(namedHeaders(headers).signature, plain)) && given.some((one) => equal(one, standard))
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
