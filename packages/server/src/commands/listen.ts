import { webhookFilter } from '@org/agent-messaging-adapter-http'
import { filterRules, subscriptionRule, type WebhookFilter } from '@org/agent-messaging-core/host'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { jsonIn } from './api/setting-options.js'
import { addCommand } from './command.js'
import { forward, type ForwardOptions } from './forward.js'
import { ruled, wholeNumber } from './options.js'
import { secretOf, withSecret } from './secret.js'
import {
  keyOption,
  projectOption,
  runningServer,
  urlOption,
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

type ListenOptions = ForwardOptions & {
  readonly port?: number
  readonly status?: number
  readonly try?: true
  readonly forward?: string
}

export function addListen(program: Command) {
  const command = addCommand(
    program,
    'listen',
    'receive webhooks, check their signatures and print them, or forward events to a receiver',
    [
      'agent-messaging listen --try',
      'agent-messaging listen --secret-file secret.txt',
      'WEBHOOK_SECRET=$(cat secret.txt) agent-messaging listen --port 4001',
      "agent-messaging listen --forward http://localhost:8080/hook --events 'order.*'",
    ],
  )
  withSecret(command, "the webhook's secret (default: $WEBHOOK_SECRET)")
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
    .addOption(
      new Option(
        '--forward <url>',
        'post each event of the log to this URL, signed as a webhook',
      ).conflicts(['try', 'port', 'status']),
    )
    .addOption(
      new Option(
        '--events <names>',
        'forward only these events and groups, such as message.failed,order.*',
      ).argParser((text) => text.split(',').map(ruled(subscriptionRule))),
    )
    .addOption(
      new Option('--filter <json>', 'forward only events that match this filter').argParser(
        filterIn,
      ),
    )
    .option('--after <cursor>', 'also forward the events after this cursor, which each line has')
    .addOption(urlOption())
    .addOption(keyOption('project:message and project:webhooks, or project:events to forward'))
    .addOption(projectOption())
    .action(listen)
}

async function listen(options: ListenOptions) {
  if (options.forward !== undefined) return forward(options.forward, options)
  for (const name of ['events', 'filter', 'after'] as const)
    if (options[name] !== undefined) throw new OperatorError(`--${name} needs --forward`, 2)
  if (options.try) return tryOut(runningServer(options), options.port ?? 0)
  if (options.url !== undefined || options.apiKey !== undefined)
    throw new OperatorError('--url and --api-key need --try or --forward', 2)
  const { openReceiver } = await import('../receiver.js')
  const { url } = await openReceiver({
    port: options.port ?? 4000,
    secret: secretOf(options),
    status: options.status,
    onDelivery: ({ text }) => console.log(text),
  })
  console.log(`Listening for webhooks on ${url}/ (press Ctrl-C to stop)\n`)
}

function filterIn(text: string): WebhookFilter {
  const { data, error } = webhookFilter.safeParse(jsonIn(text))
  const problem = data ? Object.values(filterRules(data)).find(Boolean) : error.issues[0]?.message
  if (data && problem === undefined) return data
  throw new InvalidArgumentError(`It ${problem}.`)
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
async function statusOf({ deliveries }: Client, id: string) {
  for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
    const { status } = await deliveries.get(id)
    if (status !== 'pending' || waitedMs >= LIMIT_MS) return status
    await delay(PAUSE_MS)
  }
}
