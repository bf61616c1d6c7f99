import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventName, PublishedEvent, WebhookEvent } from '../events.js'
import { keyIn } from '../secrets.js'
import { WebhookVerificationError } from '../verification-error.js'
import { verify } from '../verify.js'
import { Mailbox } from './mailbox.js'

/** The response to a valid request. The default is an immediate 200. */
export type CatcherAnswer = {
  readonly status?: number
  readonly delayMs?: number
  readonly headers?: Readonly<Record<string, string>>
}

export type CatcherOptions = {
  /** The secret of the webhook. By default the catcher creates one. */
  readonly secret?: string
  /** The response to all requests without an `answerNext`. */
  readonly answer?: CatcherAnswer
  /** The default is any free port. */
  readonly port?: number
}

export type CaughtEvent<Name extends string = EventName> = {
  /** An event of the service, or a published one. */
  readonly event: Name extends EventName ? WebhookEvent<Name> : PublishedEvent
  readonly deliveryId: string
  /** Milliseconds since 1970. */
  readonly signedAt: number
  /** The names are in lower case. */
  readonly headers: IncomingMessage['headers']
  /** The signed text. */
  readonly body: string
  /** The status of the response. */
  readonly status: number
}
/** An invalid request. The response was a 401. */
export type RefusedRequest = {
  readonly error: WebhookVerificationError
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type WebhookCatcher = {
  /** The URL to register with `secret`, on 127.0.0.1. */
  readonly url: string
  readonly secret: string
  /** All valid requests so far, including retries. */
  readonly received: readonly CaughtEvent[]
  readonly refused: readonly RefusedRequest[]
  /**
   * Returns the oldest event of this name, or of any name, that `next` has not returned. Waits for
   * one if necessary. Rejects after `timeoutMs`, by default 5 s, and names the received events.
   */
  next<Name extends string = EventName>(
    name?: Name,
    options?: { readonly timeoutMs?: number },
  ): Promise<CaughtEvent<Name>>
  /** Sets the responses to the next valid requests. Two with a status of 500 cause two retries. */
  answerNext(...answers: readonly CatcherAnswer[]): void
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const TIMEOUT_MS = 5_000

/**
 * Starts a receiver of webhooks for your tests. The receiver verifies and records each delivery,
 * and lets a test wait for the next one.
 * @throws WebhookVerificationError if the secret is empty or malformed
 */
export async function createWebhookCatcher(options: CatcherOptions = {}): Promise<WebhookCatcher> {
  const {
    secret = `whsec_${randomBytes(32).toString('base64')}`,
    answer: defaultAnswer = {},
    port = 0,
  } = options
  keyIn(secret)
  const answers: CatcherAnswer[] = []
  const refused: RefusedRequest[] = []
  const caught = new Mailbox<CaughtEvent>()

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
    const { status = 200, delayMs = 0, headers: extra = {} } = answers.shift() ?? defaultAnswer
    caught.put({ ...delivery, headers, body: body.toString(), status } as CaughtEvent)
    if (delayMs > 0) await sleep(delayMs, undefined, { ref: false })
    response.writeHead(status, extra).end()
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = () => closed(server)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    secret,
    received: caught.all,
    refused,
    next: <Name extends string>(name?: Name, { timeoutMs = TIMEOUT_MS } = {}) =>
      caught.take(
        ({ event }) => name === undefined || event.event === name,
        timeoutMs,
        () =>
          `no ${name ?? 'event'} arrived within ${timeoutMs} ms, but ${received(caught.all, refused)}`,
      ) as Promise<CaughtEvent<Name>>,
    answerNext: (...more) => void answers.push(...more),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function received(caught: readonly CaughtEvent[], refused: readonly RefusedRequest[]) {
  const names = [
    ...caught.map(({ event }) => event.event),
    ...refused.map(({ error }) => `an invalid request (${error.code})`),
  ]
  return names.length === 0 ? 'nothing else' : names.join(', ')
}

async function closed(server: Server) {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}
