import { Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { addCommand } from './command.js'
import { wholeNumber } from './options.js'
import { secretOf, withSecret, type SecretOptions } from './secret.js'
import {
  keyOption,
  runningServer,
  urlOption,
  type ServerOptions,
  readable,
  START_A_SERVER,
  textOf,
  type RunningServer,
} from './send.js'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type Client } from '@org/agent-messaging-client'
import { newSecret } from '@org/agent-messaging-core/runtime'
import type { Received } from '../receiver.js'
import { orRefusal } from './client-error.js'
import { interruptible } from './upkeep.js'

type ListenOptions = SecretOptions &
  ServerOptions & {
    readonly port?: number
    readonly status?: number
    readonly try?: true
  }

export function addListen(program: Command): void {
  const command = addCommand(
    program,
    'listen',
    'receive webhooks, check their signatures and print them',
    [
      'agent-messaging listen --try',
      'agent-messaging listen --secret-file secret.txt',
      'WEBHOOK_SECRET=$(cat secret.txt) agent-messaging listen --port 4001',
    ],
  )
  withSecret(command, "the webhook's secret, for checking signatures (default: $WEBHOOK_SECRET)")
    .option(
      '--port <port>',
      'port to listen on (default: 4000, with --try a free port)',
      wholeNumber(0, 65_535, 'a port'),
    )
    .option(
      '--status <code>',
      'status code of the responses (default: 200)',
      wholeNumber(200, 599, 'a final status code'),
    )
    .addOption(
      new Option(
        '--try',
        'register a webhook, send a message to the agent echo, print its webhook, and end',
      ).conflicts(['secret', 'secretFile', 'status']),
    )
    .addOption(urlOption())
    .addOption(keyOption('project:message and project:webhooks'))
    .action(listen)
}

async function listen(options: ListenOptions) {
  if (options.try) return tryOut(runningServer(options), options.port ?? 0)
  if (options.url !== undefined || options.apiKey !== undefined)
    throw new OperatorError('--url and --api-key need --try', 2)
  const { openReceiver } = await import('../receiver.js')
  const { url } = await openReceiver({
    port: options.port ?? 4000,
    secret: secretOf(options),
    status: options.status,
    onDelivery: ({ text }) => console.log(text),
  })
  console.log(`Listening for webhooks on ${url}/ (press Ctrl-C to stop)\n`)
}

const AGENT = 'echo'
const TEXT = 'Hello'
const LIMIT_MS = 30_000
const PAUSE_MS = 50

/**
 * Shows a verified webhook of a running server: registers a receiver, sends a message, and prints
 * the webhook. Deletes the webhook at the end, also after an error or a signal.
 */
const tryOut = (server: RunningServer, port: number) =>
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
) {
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
