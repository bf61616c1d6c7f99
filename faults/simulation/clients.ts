import type { SendInput } from '@org/agent-messaging-core'
import type { ClientRequest, Erasure, PublishRequest, Replay } from '../checker/history.js'
import type { Population } from './populate.js'
import type { Answered, AnyProcess, Request } from './process.js'
import { createPublisher } from './publisher.js'
import { newReceiver } from './receivers.js'
import { latency, type FailureRates } from './failure-rates.js'
import type { Timeline } from './timeline.js'

/** Clients of the API. They know their project and the answers that they got. */
export type Clients = {
  readonly requests: readonly ClientRequest[]
  readonly published: readonly PublishRequest[]
  readonly erasures: readonly Erasure[]
  readonly replays: readonly AskedReplay[]
  /** Number of clients that still run. */
  readonly busy: number
  /** Starts a client that performs this number of actions in turn. */
  come(actions: number): void
}

/** `id`: that of the recovery, unless the answer was lost. */
type AskedReplay = Omit<Replay, 'isDone'> & { readonly id: string | undefined }

type ClientOptions = Pick<Population, 'projectId' | 'agentIds' | 'erases'> & {
  readonly timeline: Timeline
  readonly rates: FailureRates
  readonly anyProcess: AnyProcess
}

type Row = { readonly id: string }

const SESSIONS = 3
const KEYS = 12
const TRIES = 4
const LONGEST_WAIT_MS = 12_000
const PAUSE_MS = 1_200
const LONGEST_REPLAY_MS = 60_000
const RETRY_PAUSE_MS = 2_000
const PAGE = { limit: 50 }

export function createClients({
  timeline,
  rates,
  projectId,
  agentIds,
  erases,
  anyProcess,
}: ClientOptions): Clients {
  const { dice } = timeline
  const requests: ClientRequest[] = []
  const replays: AskedReplay[] = []
  /** Accepted messages, with their agents. */
  const known: { readonly agent: string; readonly messageId: string }[] = []
  let webhooks = 0
  let unkeyed = 0
  let busy = 0

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => void timeline.after(ms, resolve))

  /** Returns undefined if the answer was lost. */
  async function ask<T>(request: Request<T>): Promise<Answered<T> | undefined> {
    const answer = await anyProcess()?.ask(request)
    await pause(latency(dice, rates))
    return dice.chance(rates.answersLost) ? undefined : answer
  }

  const publisher = createPublisher({ timeline, projectId, agentIds, ask, pause })

  /** Sends a message. With a key, repeats it after a failure, and sometimes after a success. */
  async function send(): Promise<void> {
    const isKeyed = dice.chance(0.7)
    const no = isKeyed ? dice.below(KEYS) : KEYS + ++unkeyed
    const agent = agentIds[no % agentIds.length] as string
    const input = {
      projectId,
      agent,
      sessionId: `session ${no % SESSIONS}`,
      message: `message ${no}`,
    }
    const sent = {
      ...input,
      ...(isKeyed && { idempotencyKey: `key ${no}` }),
      waitMs: dice.oneOf([0, dice.below(LONGEST_WAIT_MS)]),
    }
    for (let tries = 1; tries <= TRIES; tries++) {
      const isAnswered = await sendOnce(sent)
      if (!isKeyed || (isAnswered && dice.chance(0.9))) return
      await pause(dice.below(RETRY_PAUSE_MS))
    }
  }

  async function sendOnce({
    waitMs,
    ...input
  }: Omit<SendInput, 'idempotencyKey'> & { readonly idempotencyKey?: string }): Promise<boolean> {
    const { agent, idempotencyKey: key, sessionId, message } = input
    const at = timeline.elapsed
    const result = await ask((service) => service.messages.send({ ...input, waitMs }))
    const request = {
      kind: 'send',
      at,
      agent,
      sessionId,
      message,
      ...(key !== undefined && { key }),
    } as const
    const answer = result?.match(
      ({ message: { id: messageId, state } }) => {
        known.push({ agent, messageId })
        return state.kind === 'responded'
          ? { status: 200, messageId, response: state.response }
          : { status: 202, messageId }
      },
      ({ kind }) => ({ status: kind === 'unavailable' ? 503 : 409 }),
    )
    requests.push({ ...request, ...(answer && { answer: { ...answer, at: timeline.elapsed } }) })
    return answer !== undefined && answer.status < 500
  }

  async function read(): Promise<void> {
    if (known.length === 0) return
    const { agent, messageId } = dice.oneOf(known)
    const at = timeline.elapsed
    const result = await ask((service) =>
      service.messages.get({
        projectId,
        agent,
        messageId,
        waitMs: dice.oneOf([0, LONGEST_WAIT_MS]),
      }),
    )
    const answer = result?.match(
      ({ state }) => ({
        status: 200,
        messageId,
        ...(state.kind === 'responded' && { response: state.response }),
      }),
      ({ kind }) => ({ status: kind === 'unavailable' ? 503 : 404 }),
    )
    requests.push({
      kind: 'read',
      at,
      agent,
      messageId,
      ...(answer && { answer: { ...answer, at: timeline.elapsed } }),
    })
  }

  /** Changes an accepted message. */
  const toMessage = (change: 'cancel' | 'retry') => async (): Promise<void> => {
    if (known.length === 0) return
    const { agent, messageId } = dice.oneOf(known)
    await ask(async (service) => service.messages[change]({ projectId, agent, messageId }))
  }

  /** Answers or withdraws a question, perhaps twice with different values. */
  async function toInput(): Promise<void> {
    const listed = await ask((service) => service.inputs.list({ projectId, ...PAGE }))
    const messages = listed?.unwrapOr(undefined)?.data ?? []
    if (messages.length === 0) return
    const { agentId: agent, id: messageId, inputs = [] } = dice.oneOf(messages)
    const of = { projectId, agent, messageId, inputId: inputs.at(-1)?.id ?? '' }
    const answer = (value: string): Promise<unknown> =>
      ask((service) => service.inputs.answer({ ...of, value }))
    if (dice.chance(0.1)) await ask((service) => service.inputs.withdraw(of))
    else await Promise.all([answer('one'), ...(dice.chance(0.3) ? [answer('another')] : [])])
  }

  async function toDelivery(): Promise<void> {
    const listed = await ask((service) => service.deliveries.list({ projectId, ...PAGE }))
    const deliveryId = anyOf(listed?.unwrapOr(undefined)?.data)
    if (deliveryId === undefined) return
    const change = dice.oneOf(['redeliver', 'redeliver', 'cancel', 'skip'] as const)
    await ask(async (service) => service.deliveries[change]({ projectId, deliveryId }))
  }

  async function toWebhook(): Promise<void> {
    const listed = await ask((service) => service.webhooks.list({ projectId, ...PAGE }))
    const webhookId = anyOf(listed?.unwrapOr(undefined)?.data)
    if (webhookId === undefined) return
    const of = { projectId, webhookId }
    await dice.oneOf<() => Promise<unknown>>([
      () => ask((service) => service.webhooks.disable(of)),
      () => ask((service) => service.webhooks.enable(of)),
      () => ask((service) => service.webhooks.enable(of)),
      () => ask((service) => service.webhooks.sendTestEvent(of)),
      () => ask((service) => service.recoveries.start({ projectId, filter: { webhookId } })),
    ])()
  }

  /** Sends published events to one or two webhooks again. */
  async function replay(): Promise<void> {
    const listed = await ask((service) => service.webhooks.list({ projectId, ...PAGE }))
    const webhooks = listed?.unwrapOr(undefined)?.data ?? []
    if (webhooks.length === 0) return
    const chosen = Array.from({ length: 1 + dice.below(2) }, () => dice.oneOf(webhooks).id)
    const events = {
      webhookIds: [...new Set(chosen)],
      types: dice.oneOf([['order.*'], ['order.paid', 'invoice.late']]),
      createdAfter: timeline.now() - dice.below(LONGEST_REPLAY_MS),
    }
    const at = timeline.elapsed
    const started = await ask((service) => service.recoveries.start({ projectId, events }))
    const recovery = started?.unwrapOr(undefined)
    const createdBefore = recovery?.filter.createdBefore ?? Infinity
    replays.push({ at, id: recovery?.id, createdBefore, ...events })
  }

  /** Creates a webhook and sometimes deletes it again. */
  async function addTemporaryWebhook(): Promise<void> {
    const created = await ask((service) =>
      service.webhooks.create(
        newReceiver(projectId, `temporary-${++webhooks}`, {
          disableOnGone: dice.chance(0.3),
          isOrdered: dice.chance(0.3),
        }),
      ),
    )
    const webhookId = created?.unwrapOr(undefined)?.webhook.id
    await pause(dice.below(5 * PAUSE_MS))
    if (webhookId !== undefined && dice.chance(0.5))
      await ask((service) => service.webhooks.delete({ projectId, webhookId }))
  }

  async function toAgent(): Promise<void> {
    const agent = dice.oneOf(agentIds)
    await ask((service) => service.agents.stop({ projectId, agent }))
    await pause(dice.below(PAUSE_MS))
    await ask((service) => service.agents.start({ projectId, agent }))
  }

  const cron = (): Promise<unknown> =>
    ask((service) => service.tick({ budgetMs: dice.below(PAUSE_MS) }))
  const anyOf = (rows: readonly Row[] | undefined): string | undefined =>
    rows && rows.length > 0 ? dice.oneOf(rows).id : undefined

  const ACTIONS: readonly (readonly [weight: number, action: () => Promise<unknown>])[] = [
    [20, send],
    [10, publisher.publish],
    [erases ? 2 : 0, publisher.publishAndErase],
    [4, read],
    [2, toMessage('cancel')],
    [3, toMessage('retry')],
    [4, toInput],
    [3, toDelivery],
    [3, toWebhook],
    [2, addTemporaryWebhook],
    [2, replay],
    [1, toAgent],
    [2, cron],
  ]

  return {
    requests,
    published: publisher.published,
    erasures: publisher.erasures,
    replays,
    get busy() {
      return busy
    },
    come: (actions) => {
      busy++
      const act = async (): Promise<void> => {
        for (let n = 0; n < actions; n++) {
          await dice.weighted(ACTIONS)()
          await pause(dice.below(PAUSE_MS))
        }
        busy--
      }
      void act()
    },
  }
}
