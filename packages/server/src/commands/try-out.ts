import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type Client } from '@org/agent-messaging-client'
import { newSecret } from '@org/agent-messaging-core/runtime'
import { OperatorError } from '../operator-error.js'
import type { Received } from '../receiver.js'
import { orRefusal } from './client-error.js'
import { interruptible } from './interruptible.js'
import { readable, START_A_SERVER, textOf, type RunningServer } from './send.js'

const AGENT = 'echo'
const TEXT = 'Hello'
const LIMIT_MS = 30_000
const PAUSE_MS = 50

/**
 * Shows a verified webhook of a running server: registers a receiver, sends a message, and prints
 * the webhook. Deletes the webhook at the end, also after an error or a signal.
 */
export const tryOut = (server: RunningServer, port: number): Promise<void> =>
  interruptible(async (signal) => {
    const { openReceiver } = await import('../receiver.js')
    const secret = newSecret(randomBytes)
    const { promise: verified, resolve } = Promise.withResolvers<Received>()
    const onDelivery = (received: Received) =>
      received.isValid ? resolve(received) : console.log(received.text)
    const receiver = await openReceiver({ port, secret, onDelivery })
    try {
      await showWebhook(server, { url: `${receiver.url}/`, secret }, verified, signal)
    } finally {
      await receiver.close(0)
    }
  })

async function showWebhook(
  { client, baseUrl }: RunningServer,
  { url, secret }: { readonly url: string; readonly secret: string },
  /** The first delivery with a valid signature. The others are printed. */
  verified: Promise<Received>,
  signal: AbortSignal,
): Promise<void> {
  const sessionId = `try-${randomUUID()}`
  const webhook = await orRefusal(
    client.webhooks.create({
      url,
      secret,
      events: ['message.responded', 'message.failed'],
      filter: { sessionIdPrefix: sessionId },
      description: 'agent-messaging listen --try',
    }),
    `cannot register a webhook at ${baseUrl}`,
    START_A_SERVER,
  )
  console.log(`Registered the webhook ${url}`)
  try {
    const sent = await client.messages
      .send(AGENT, { sessionId, message: TEXT }, { signal })
      .catch((error: unknown) => {
        throw refusalOfSend(error, baseUrl)
      })
    console.log(`Sent "${TEXT}" to the agent ${AGENT}. Its answer: ${textOf(sent)}\n`)
    const { text, deliveryId } = await inTime(verified, signal, sent.messageId)
    console.log(text)
    console.log(`The server shows delivery ${deliveryId} as ${await statusOf(client, deliveryId)}.`)
  } finally {
    await client.webhooks.delete(webhook.id)
    console.log('Deleted the webhook.')
  }
}

function refusalOfSend(error: unknown, baseUrl: string) {
  if (error instanceof ApiError && error.code === 'NOT_FOUND')
    return new OperatorError(
      `the agent ${AGENT} was deleted; run: agent-messaging agents create ${AGENT} --handler ${AGENT}`,
    )
  return readable(error, baseUrl, AGENT)
}

/** Rejects when the signal or the time limit ends the wait. */
async function inTime<T>(wanted: Promise<T>, signal: AbortSignal, messageId: string) {
  const end = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  const ended = once(end, 'abort').then(() => {
    throw new OperatorError(
      `no verified webhook arrived in ${LIMIT_MS / 1_000} s; to see why, run: ` +
        `agent-messaging deliveries list --message ${messageId}`,
    )
  })
  return Promise.race([wanted, ended])
}

/** Waits until the server has stored the response of the receiver. */
async function statusOf({ deliveries }: Client, id: string): Promise<string> {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    const { status } = await deliveries.get(id)
    if (status !== 'pending' || waitedMs >= LIMIT_MS) return status
    await delay(PAUSE_MS)
  }
}
