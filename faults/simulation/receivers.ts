import type { SendRequest, WebhookSender } from '@org/agent-messaging-core/runtime'
import { accepted, refused, unreachable } from '@org/agent-messaging-core/testing'
import { ok } from 'neverthrow'
import type { ReceivedRequest } from '../checker/history.js'
import type { Faults } from './faults.js'
import { latency, type Weather } from './weather.js'
import type { Owner, World } from './world.js'

type Outcome = Awaited<ReturnType<WebhookSender['send']>>
/** `url`: of the receiver, which knows its webhook by nothing else. */
type Received = Omit<ReceivedRequest, 'webhookId'> & { readonly url: string }

/** All that is beyond the senders: the network, and receivers that write down what they get. */
export type Receivers = {
  readonly received: readonly Received[]
  senderOf(owner: Owner): WebhookSender
}

type Answer = { readonly status: number; readonly afterMs: number; readonly retryAfterMs?: number }

const LATE_MS = 6_000

export function createReceivers(world: World, weather: Weather, faults: Faults): Receivers {
  const { dice } = world
  const received: Received[] = []

  /** What becomes of a request, whether or not who sent it still waits. */
  function arrive({ url, headers, body }: SendRequest, tell: (outcome: Outcome) => void): void {
    const answer = answerOf()
    const receipt = `receipt ${received.length + 1}`
    const at = world.elapsed
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
    world.note(
      `${url} gets ${headers['webhook-id']} and answers ${status ?? 'nothing'} after ${afterMs} ms`,
    )
    if (status === undefined) return
    const outcome =
      status < 300
        ? { ...accepted(status), responseBody: receipt }
        : { ...refused(status, retryAfterMs), responseBody: receipt }
    if (dice.chance(weather.networkFails)) faults.brief('the answer of a receiver is lost', afterMs)
    else world.after(afterMs + faults.slow(latency(dice, weather)), () => tell(outcome))
  }

  function answerOf(): Answer | undefined {
    const afterMs = dice.below(50)
    if (!dice.chance(weather.receiversFail)) return { status: dice.oneOf([200, 202, 204]), afterMs }
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
        const tell = (outcome: Outcome): void => void world.after(0, () => resolve(outcome), owner)
        world.after(request.deadlineMs, () => tell(unreachable('timeout')))
        if (dice.chance(weather.networkFails))
          return void world.after(dice.below(50), () => tell(unreachable('connect')))
        world.after(faults.slow(latency(dice, weather)), () => arrive(request, tell))
      }),
    vet: async () => ok(undefined),
  })

  return { received, senderOf }
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Its URL names it, and its secret is known before anybody answers. */
export function newReceiver(projectId: string, name: string, disableOnGone = false) {
  const secret = secretOf(name)
  return {
    projectId,
    url: `https://receiver.example/${name}`,
    events: ['*'] as const,
    secret,
    disableOnGone,
  }
}

export const secretOf = (name: string): string =>
  `whsec_${Buffer.from(name.padStart(24, '.')).toString('base64')}`
