import { createDice, type Dice } from '@org/agent-messaging-testing'
import type { Erasure, PublishRequest } from '../checker/history.js'
import { request } from './api.js'
import { inputOf, NewEvents, type Asking } from './new-events.js'
import { sleep } from './until.js'

/** A publish or an erasure that no server does within this limit ends the run with an error. */
const LIMIT_MS = 300_000

export type Publishers = {
  readonly published: PublishRequest[]
  readonly erasures: Erasure[]
  stop(): Promise<void>
}

type Options = {
  readonly urls: readonly string[]
  readonly seed: number
  readonly count: number
  readonly pauseMs: number
  readonly agentIds: readonly string[]
  /** Also erases persons. The counts then have more than the tables. */
  readonly erases: boolean
}

/** Starts callers that publish events, and repeat each request until it is answered. */
export function startPublishers(options: Options): Publishers {
  const { urls, seed, count, pauseMs, agentIds, erases } = options
  const published: PublishRequest[] = []
  const erasures: Erasure[] = []
  let isOver = false

  async function publisher(name: string, dice: Dice): Promise<void> {
    const news = new NewEvents(dice, name, agentIds)
    while (!isOver) {
      if (erases && dice.chance(0.1)) await publishAndErase(news, dice)
      else {
        const asking = news.next()
        const both = dice.chance(0.1)
        const [status] = await Promise.all([
          untilAnswered(asking, dice),
          ...(both ? [untilAnswered(asking, dice)] : []),
        ])
        if (status === 202) news.accepted(asking)
      }
      await sleep(dice.below(2 * pauseMs))
    }
  }

  async function publishAndErase(news: NewEvents, dice: Dice): Promise<void> {
    const { endUserId, ...asking } = news.ofPerson()
    await untilAnswered(asking, dice)
    await sleep(dice.below(2 * pauseMs))
    const at = Date.now()
    await repeat(`the erasure of ${endUserId}`, dice, async () => {
      const route = `/v1/principals/${encodeURIComponent(endUserId)}`
      for (let cursor: string | null = ''; cursor !== null;) {
        const query = `?force=true${cursor && `&cursor=${cursor}`}`
        const answer = await request(dice.oneOf(urls), 'DELETE', route + query)
        if (!answer.ok) return undefined
        cursor = ((await answer.json()) as { nextCursor: string | null }).nextCursor
      }
      return true
    })
    erasures.push({ at, endUserId, isDone: true })
  }

  const untilAnswered = ({ events, key }: Asking, dice: Dice): Promise<number> =>
    repeat(events[0]?.text ?? '', dice, async () => {
      const [first] = events
      const body = events.length === 1 && first ? inputOf(first) : { events: events.map(inputOf) }
      const headers = key === undefined ? {} : { 'idempotency-key': key }
      const at = Date.now()
      const answer = await answerOf(
        request(dice.oneOf(urls), 'POST', '/v1/events', body, headers),
      ).catch(() => undefined)
      published.push({ at, events, ...(answer && { answer }) })
      return answer && answer.status < 500 ? answer.status : undefined
    })

  const running = Array.from({ length: count }, (_, n) =>
    publisher(`publisher${n}`, createDice(seed * 1_000 + 500 + n)),
  )
  const all = Promise.all(running)
  all.catch(() => (isOver = true)) // `stop` rejects with the error.
  return {
    published,
    erasures,
    stop: async () => {
      isOver = true
      await all
    },
  }
}

async function answerOf(sent: Promise<Response>): Promise<PublishRequest['answer']> {
  const response = await sent
  await response.text()
  const replayed = response.headers.get('idempotent-replayed') === 'true'
  return { at: Date.now(), status: response.status, replayed }
}

/** Repeats until there is a result. */
async function repeat<T>(of: string, dice: Dice, once: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(50 + dice.below(500))) {
    const result = await once().catch(() => undefined)
    if (result !== undefined) return result
  }
  throw new Error(`no server answered ${of} in ${LIMIT_MS / 1_000} s`)
}
