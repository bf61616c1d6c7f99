import { NewEvents, inputOf, type Asking } from '../harness/new-events.js'
import type { Erasure, PublishRequest } from '../checker/history.js'
import type { Population } from './populate.js'
import type { Answered, Request } from './process.js'
import type { Timeline } from './timeline.js'

/** Publishes events, and erases persons. */
export type Publisher = {
  readonly published: readonly PublishRequest[]
  readonly erasures: readonly Erasure[]
  publish(): Promise<void>
  publishAndErase(): Promise<void>
}

type Options = Pick<Population, 'projectId' | 'agentIds'> & {
  readonly timeline: Timeline
  /** Returns undefined if the answer was lost. */
  ask<T>(request: Request<T>): Promise<Answered<T> | undefined>
  pause(ms: number): Promise<void>
}

const TRIES = 4
const PAUSE_MS = 2_000
const STATUS_OF = { unavailable: 503, idempotency_mismatch: 422 } as const

export function createPublisher({ timeline, projectId, agentIds, ask, pause }: Options): Publisher {
  const { dice } = timeline
  const news = new NewEvents(dice, 'client', agentIds)
  const published: PublishRequest[] = []
  const erasures: Erasure[] = []

  async function once({ events, key }: Asking): Promise<number> {
    const [first] = events.map(inputOf)
    const of = { projectId, ...(key !== undefined && { idempotencyKey: key }) }
    const at = timeline.elapsed
    const result = await ask<{ readonly replayed: boolean }>(({ events: calls }) =>
      events.length === 1 && first
        ? calls.publish({ ...of, ...first })
        : calls.publishBatch({ ...of, events: events.map(inputOf) }),
    )
    const answer = result?.match(
      ({ replayed }) => ({ status: 202, replayed }),
      ({ kind }) => ({
        status: kind in STATUS_OF ? STATUS_OF[kind as keyof typeof STATUS_OF] : 400,
        replayed: false,
      }),
    )
    published.push({ at, events, ...(answer && { answer: { ...answer, at: timeline.elapsed } }) })
    return answer?.status ?? 503
  }

  /** Repeats a request without an answer, and sometimes one with an answer. */
  async function untilAnswered(asking: Asking, then = (): void => undefined): Promise<void> {
    for (let tries = 1; tries <= TRIES; tries++) {
      const status = await once(asking)
      if (status === 202) then()
      if (status < 500 && dice.chance(0.9)) return
      await pause(dice.below(PAUSE_MS))
    }
  }

  async function publish(): Promise<void> {
    const asking = news.next()
    const both = dice.chance(0.1)
    const work = () => untilAnswered(asking, () => news.accepted(asking))
    await Promise.all([work(), ...(both ? [work()] : [])])
  }

  async function publishAndErase(): Promise<void> {
    const { endUserId, ...asking } = news.ofPerson()
    await untilAnswered(asking)
    await pause(dice.below(PAUSE_MS))
    const at = timeline.elapsed
    const isDone = await erase(endUserId)
    erasures.push({ at, endUserId, isDone })
  }

  async function erase(endUserId: string): Promise<boolean> {
    let cursor: string | undefined
    for (let tries = 1; tries <= TRIES; tries++) {
      const of = { endUserId, projectId, force: true, ...(cursor !== undefined && { cursor }) }
      const traces = (await ask((service) => service.principals.erase(of)))?.unwrapOr(undefined)
      if (traces?.nextCursor === null) return true
      if (traces) cursor = traces.nextCursor ?? undefined
      else await pause(dice.below(PAUSE_MS))
    }
    return false
  }

  return { published, erasures, publish, publishAndErase }
}
