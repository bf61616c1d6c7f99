import { success, type SendRequest, type WebhookSender } from '@org/agent-messaging-core/runtime'
import { accepted, refused, unreachable } from '@org/agent-messaging-testing'
import type { ReceivedRequest } from '../checker/history.js'
import { KIND } from '../harness/new-events.js'
import type { FaultLog } from './fault-log.js'
import { latency, type FailureRates } from './failure-rates.js'
import type { Owner, Timeline } from './timeline.js'

type Outcome = Awaited<ReturnType<WebhookSender['send']>>
/** A request, with the receiver's URL instead of the webhook's id. */
type Received = Omit<ReceivedRequest, 'webhookId'> & { readonly url: string }

/** The network and the receivers, which record their requests. */
export type Receivers = {
  readonly received: readonly Received[]
  senderOf(owner: Owner): WebhookSender
}

type Answer = { readonly status: number; readonly afterMs: number; readonly retryAfterMs?: number }

const LATE_MS = 6_000

export function createReceivers(
  timeline: Timeline,
  rates: FailureRates,
  faults: FaultLog,
): Receivers {
  const { dice } = timeline
  const received: Received[] = []

  /** Handles a request, even if its sender no longer waits. */
  function arrive({ url, headers, body }: SendRequest, respond: (outcome: Outcome) => void): void {
    const answer = answerOf()
    const receipt = `receipt ${received.length + 1}`
    const at = timeline.elapsed
    const { status, afterMs = 0, retryAfterMs } = answer ?? {}
    const answered =
      status === undefined
        ? {}
        : {
            answer: {
              at: at + afterMs,
              status,
              ...(retryAfterMs !== undefined && { retryAfterMs }),
            },
          }
    received.push({ at, url, headers: lowerCased(headers), body, receipt, ...answered })
    timeline.note(
      `${url} gets ${headers['webhook-id']} and answers ${status ?? 'nothing'} after ${afterMs} ms`,
    )
    if (status === undefined) return
    const outcome =
      status < 300
        ? { ...accepted(status), responseBody: receipt }
        : { ...refused(status, retryAfterMs), responseBody: receipt }
    if (dice.chance(rates.networkFails)) faults.record('the answer of a receiver is lost', afterMs)
    else timeline.after(afterMs + faults.slow(latency(dice, rates)), () => respond(outcome))
  }

  function answerOf(): Answer | undefined {
    const afterMs = dice.below(50)
    if (!dice.chance(rates.receiversFail)) return { status: dice.oneOf([200, 202, 204]), afterMs }
    return dice.oneOf([
      undefined,
      { status: 500, afterMs },
      { status: 302, afterMs },
      { status: 410, afterMs },
      { status: 429, afterMs, retryAfterMs: dice.below(10_000) },
      { status: 503, afterMs },
      { status: 503, afterMs, retryAfterMs: dice.below(10_000) },
      { status: 200, afterMs: dice.below(LATE_MS) },
    ])
  }

  const senderOf = (owner: Owner): WebhookSender => ({
    send: (request) =>
      new Promise((resolve) => {
        const respond = (outcome: Outcome): void =>
          void timeline.after(0, () => resolve(outcome), owner)
        timeline.after(request.deadlineMs, () => respond(unreachable('timeout')))
        if (dice.chance(rates.networkFails))
          return void timeline.after(dice.below(50), () => respond(unreachable('connect')))
        timeline.after(faults.slow(latency(dice, rates)), () => arrive(request, respond))
      }),
    vet: async () => success(undefined),
  })

  return { received, senderOf }
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Returns the input of a webhook. Its URL and its secret follow from the name. */
export function newReceiver(
  projectId: string,
  name: string,
  { disableOnGone = false, isOrdered = false } = {},
) {
  const secret = secretOf(name)
  return {
    projectId,
    url: `https://receiver.example/${name}`,
    events: ['*'],
    secret,
    disableOnGone,
    ordering: isOrdered ? 'session' : 'none',
  } as const
}

/** A webhook for the ids of the published events of one kind. */
export const THIN = {
  events: ['order.*'],
  payload: 'thin',
  filter: { data: [{ path: 'kind', equals: KIND }] },
} as const

export const secretOf = (name: string): string =>
  `whsec_${Buffer.from(name.padStart(24, '.')).toString('base64')}`
