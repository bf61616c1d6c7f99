import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventName, WebhookEvent } from '../events.js'
import { keyIn } from '../secrets.js'
import { WebhookVerificationError } from '../verification-error.js'
import { verify } from '../verify.js'
import { mailbox } from './mailbox.js'

/** How a genuine request is answered: 200 at once, unless it says otherwise. */
export type CatcherAnswer = {
  readonly status?: number
  readonly delayMs?: number
  readonly headers?: Readonly<Record<string, string>>
}

export type CatcherOptions = {
  /** What the webhook is registered with; made unless given, and then `secret` of the catcher. */
  readonly secret?: string
  /** The answer to everything that `answerNext` says nothing about. */
  readonly answer?: CatcherAnswer
  /** 0, any free one, unless given. */
  readonly port?: number
}

export type CaughtEvent<Name extends EventName = EventName> = {
  readonly event: WebhookEvent<Name>
  readonly deliveryId: string
  /** ms since 1970. */
  readonly signedAt: number
  /** Names in lower case. */
  readonly headers: IncomingMessage['headers']
  /** The characters that were signed. */
  readonly body: string
  /** What it was answered with. */
  readonly status: number
}
/** A request that is not to be believed; it was answered with 401. */
export type RefusedRequest = {
  readonly error: WebhookVerificationError
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type WebhookCatcher = {
  /** What to register, with `secret`. It is on 127.0.0.1. */
  readonly url: string
  readonly secret: string
  /** Every genuine request so far, those that were answered with a failure and sent again too. */
  readonly received: readonly CaughtEvent[]
  readonly refused: readonly RefusedRequest[]
  /**
   * The oldest event of this name, or of any, that no `next` has given before; waits for one to come. Rejects when none has come
   * within `timeoutMs`, 5,000 unless given, and says what came instead.
   */
  next<Name extends EventName = EventName>(
    name?: Name,
    options?: { readonly timeoutMs?: number },
  ): Promise<CaughtEvent<Name>>
  /** The answers to the next genuine requests, one each: `answerNext({ status: 500 }, { status: 500 })` has two of them sent again. */
  answerNext(...answers: readonly CatcherAnswer[]): void
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const TIMEOUT_MS = 5_000

/**
 * Starts a receiver of webhooks for your tests. The receiver verifies and records each delivery, and lets a test wait
 * for the next one.
 * @throws WebhookVerificationError if the secret is empty or malformed
 */
export async function createWebhookCatcher(options: CatcherOptions = {}): Promise<WebhookCatcher> {
  const {
    secret = `whsec_${randomBytes(32).toString('base64')}`,
    answer: standing = {},
    port = 0,
  } = options
  keyIn(secret)
  const answers: CatcherAnswer[] = []
  const refused: RefusedRequest[] = []
  const caught = mailbox<CaughtEvent>()

  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy())
  })
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request
    const body = await buffer(request)
    const delivery = await verify(body, headers, secret).catch(
      (error: WebhookVerificationError) => error,
    )
    if (delivery instanceof WebhookVerificationError) {
      refused.push({ error: delivery, headers, body: body.toString() })
      response.writeHead(401).end(delivery.message)
      return
    }
    const { status = 200, delayMs = 0, headers: own = {} } = answers.shift() ?? standing
    caught.put({ ...delivery, headers, body: body.toString(), status })
    if (delayMs > 0) await sleep(delayMs, undefined, { ref: false })
    response.writeHead(status, own).end()
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () => closed(server)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    secret,
    received: caught.all,
    refused,
    next: <Name extends EventName>(name?: Name, { timeoutMs = TIMEOUT_MS } = {}) =>
      caught.take(
        ({ event }) => name === undefined || event.event === name,
        timeoutMs,
        () => `no ${name ?? 'event'} came within ${timeoutMs} ms; ${came(caught.all, refused)}`,
      ) as Promise<CaughtEvent<Name>>,
    answerNext: (...more) => void answers.push(...more),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function came(received: readonly CaughtEvent[], refused: readonly RefusedRequest[]): string {
  const names = [
    ...received.map(({ event }) => event.event),
    ...refused.map(({ error }) => `a refused request (${error.code})`),
  ]
  return names.length === 0 ? 'nothing came at all' : `what came so far: ${names.join(', ')}`
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
