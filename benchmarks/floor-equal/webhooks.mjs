// The webhook side of both floors: signs deliveries, sends them, and reports each attempt.
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { Pool } from 'undici'

const IN_FLIGHT = 64
const TIMEOUT_MS = 15_000
const MAX_BODY_BYTES = 16 * 1024
const HEADERS = [
  'content-type',
  'X-Service-Delivery',
  'X-Service-Event',
  'X-Service-Signature',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]
export const headerNames = HEADERS.join('\n')

// The secrets in the database are sealed, so the floor signs with another one.
const secret = randomBytes(32)
const standardKey = createSecretKey(secret)
const ownKey = createSecretKey(Buffer.from(`whsec_${secret.toString('base64')}`))

/**
 * Sends deliveries, `IN_FLIGHT` at a time. Calls `onAttempt` and `onRoom` after each
 * attempt.
 */
export class Sender {
  #waiting = []
  #next = 0
  #inFlight = 0
  #pools = new Map()
  #onAttempt
  #onRoom

  constructor({ onAttempt, onRoom = () => undefined }) {
    this.#onAttempt = onAttempt
    this.#onRoom = onRoom
  }

  /** Deliveries that wait for a slot. */
  get waiting() {
    return this.#waiting.length - this.#next
  }

  send(delivery) {
    if (this.#inFlight < IN_FLIGHT) this.#start(delivery)
    else this.#waiting.push(delivery)
  }

  #start(delivery) {
    this.#inFlight++
    const { id, event, body, url } = delivery
    const now = Date.now()
    const timestamp = String(Math.floor(now / 1_000))
    const values = [
      'application/json',
      id,
      event,
      `sha256=${createHmac('sha256', ownKey).update(body).digest('hex')}`,
      id,
      timestamp,
      `v1,${createHmac('sha256', standardKey).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
    ]
    delivery.startedAt = now
    delivery.headerValues = values.join('\n')
    const headers = []
    for (let n = 0; n < HEADERS.length; n++) headers.push(HEADERS[n], values[n])
    const { pool, path } = this.#targetOf(url)
    pool.dispatch({ path, method: 'POST', headers, body }, new Exchange(delivery, this.#ended))
  }

  #ended = (delivery, outcome) => {
    delivery.durationMs = Date.now() - delivery.startedAt
    delivery.outcome = outcome
    this.#inFlight--
    if (this.waiting > 0) this.#start(this.#waiting[this.#next++])
    if (this.#next > 1_000 && this.#next * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#next)
      this.#next = 0
    }
    this.#onAttempt(delivery)
    this.#onRoom()
  }

  #targetOf(url) {
    const known = this.#pools.get(url)
    if (known) return known
    const { origin, pathname, search } = new URL(url)
    const timeouts = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS }
    const target = {
      pool: new Pool(origin, { connections: IN_FLIGHT, ...timeouts }),
      path: pathname + search,
    }
    this.#pools.set(url, target)
    return target
  }
}

class Exchange {
  #delivery
  #onEnd
  #statusCode = 0
  #chunks = []

  constructor(delivery, onEnd) {
    this.#delivery = delivery
    this.#onEnd = onEnd
  }

  onRequestStart() {}

  onResponseStart(_controller, statusCode) {
    this.#statusCode = statusCode
  }

  onResponseData(_controller, chunk) {
    this.#chunks.push(chunk)
  }

  onResponseEnd() {
    if (this.#statusCode >= 300) throw new Error(`the receiver answered ${this.#statusCode}`)
    const responseBody =
      this.#chunks.length === 0
        ? ''
        : Buffer.concat(this.#chunks).subarray(0, MAX_BODY_BYTES).toString('utf8')
    this.#onEnd(this.#delivery, { kind: 'accepted', statusCode: this.#statusCode, responseBody })
  }

  onResponseError(_controller, error) {
    throw error
  }
}
