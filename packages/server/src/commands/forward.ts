import { hash, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'
import type { Client, LoggedEvent } from '@org/agent-messaging-client'
import { defaultPolicy } from '@org/agent-messaging-core'
import type { WebhookFilter } from '@org/agent-messaging-core/host'
import { nodeCrypto, systemClock } from '@org/agent-messaging-core/node'
import {
  attemptMaker,
  given,
  newSecret,
  webhookSecretContext,
  type Outcome,
} from '@org/agent-messaging-core/runtime'
import { matchesFilter, subscribesTo } from '@org/agent-messaging-core/storage'
import { OperatorError } from '../operator-error.js'
import { loadConfig } from '../settings/load-config.js'
import { logEnd } from './api/events.js'
import { onBackend } from './backend.js'
import { orRefusal } from './client-error.js'
import { forStdout } from './output.js'
import { secretOf, type SecretOptions } from './secret.js'
import { runningServer, type ServerOptions } from './send.js'

export type ForwardOptions = SecretOptions &
  ServerOptions & {
    readonly events?: readonly string[]
    readonly filter?: WebhookFilter
    readonly after?: string
  }

/**
 * Posts the events of the log to the URL until Ctrl-C, one at a time, each until the receiver
 * accepts it. Begins now, or after the cursor of the options.
 */
export async function forward(url: string, options: ForwardOptions): Promise<void> {
  const own = secretOf(options)
  const secret = own ?? newSecret(randomBytes)
  const post = await poster(url, secret)
  console.log(`Forwarding events to ${url} (press Ctrl-C to stop)`)
  if (own === undefined) console.log(`The secret is ${secret}`)
  const work = ({ client }: { readonly client: Client }) =>
    orRefusal(followLog(client, post, options), 'cannot read the events')
  if (options.url === undefined && options.apiKey === undefined)
    return onBackend(given({ project: options.project }), undefined, work, Infinity)
  return work(runningServer(options, Infinity))
}

type Post = (event: LoggedEvent['event']) => Promise<Outcome>

async function followLog(client: Client, post: Post, options: ForwardOptions) {
  const { events = ['*'], filter, after = await logEnd(client) } = options
  console.log(`Waiting for the events after ${after}`)
  for await (const { cursor, event } of client.events.follow({ after })) {
    if (!subscribesTo(events, event.event) || !matchesFilter(filter, subjectOf(event.data)))
      continue
    for (let pauseMs = 250; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const outcome = await post(event)
      const isAccepted = outcome.kind === 'accepted'
      const next = isAccepted ? `--after ${cursor}` : `again in ${pauseMs} ms`
      const time = new Date().toISOString().slice(11, 19)
      console.log(forStdout(`${time}  ${event.event}  ${resultOf(outcome)}  ${next}`))
      if (isAccepted) break
      await delay(pauseMs)
    }
  }
}

/** A published event can have any value under this name. */
function subjectOf(data: object): { readonly sessionId: string; readonly data: object } {
  const { sessionId }: { readonly sessionId?: unknown } = data
  return { ...data, data, sessionId: typeof sessionId === 'string' ? sessionId : '' }
}

const resultOf = (outcome: Outcome) =>
  outcome.kind === 'unreachable' ? `${outcome.error}: ${outcome.detail}` : outcome.statusCode

const MAX_PAUSE_MS = 4_000

/** The person at the terminal chooses the receiver. */
const ANYWHERE = { allowLoopback: true, allowHttp: true, allowedCidrs: ['0.0.0.0/0', '::/0'] }

/** Returns a function that posts an event as the service posts a delivery. */
async function poster(url: string, secret: string): Promise<Post> {
  const http = outboundHttp({ guard: addressGuard(ANYWHERE) })
  const vetted = await http.vet(url)
  if (!vetted.ok) throw new OperatorError(`the URL of --forward ${vetted.error}`, 2)
  const crypto = nodeCrypto(randomBytes(32))
  const id = 'forward'
  const webhook = { id, url, secret: crypto.seal(secret, webhookSecretContext(id)) }
  const maker = attemptMaker({
    clock: systemClock,
    crypto,
    sender: httpWebhookSender(http),
    policy: { ...defaultPolicy, ...loadConfig().policy },
  })
  return async (event) => {
    const { outcome } = await maker.make({
      delivery: { id: deliveryIdOf(event.id), event: event.event },
      webhook,
      lease: { until: Infinity },
      body: JSON.stringify(event),
    })
    return outcome
  }
}

/** A UUID of version 8. Each repeat of an event has the same one. */
const deliveryIdOf = (eventId: string) =>
  hash('sha256', `forward ${eventId}`).replace(
    /^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/,
    '$1-$2-8$3-8$4-$5',
  )
