import { ok, safeTry } from 'neverthrow'
import { DAY_MS, startOf } from '../domain/operations/counts.js'
import type { Instant } from '../domain/values/instant.js'
import { badFirst, ofPage, type PageInput } from '../domain/values/page-rules.js'
import { chain } from '../pacing/chain.js'
import type { Project } from '../ports/credential-store.js'
import type { DeliveryBacklog } from '../ports/delivery-store.js'
import type { MessageBacklog } from '../ports/message-store.js'
import type { Needs } from './context.js'
import { sumsOf, totalOf, type Sums } from './read-stats.js'

type Work = {
  readonly openMessages: number
  readonly openDeliveries: number
  /** Since when the oldest delivery that nothing holds has been due. */
  readonly oldestDueAt?: Instant
  readonly heldDeliveries: number
  /** Disabled ones, also by an operator, and those that back off. */
  readonly failingWebhooks: number
}
/** What waits and fails in a project now, and what it used in 30 days (UTC). */
export type ProjectOverview = Project & Work & { readonly usage: Sums }

/** Projects that are read together. */
const STEP = 1_000
const DAYS = 30

/** Reads the open work of all projects, and the counts of the projects of the page. */
export const readProjects =
  (d: Needs<'clock' | 'storage' | 'deliverySender'>) =>
  (input: PageInput = {}) =>
    ofPage(input, (asked) =>
      safeTry(async function* () {
        const { storage, deliverySender } = d
        const now = d.clock.now()
        const messages = yield* chain(storage.messages.backlogs(now))
        const deliveries = yield* chain(storage.deliveries.backlogs(now, deliverySender.limited))
        const all: (Project & Work)[] = []
        for (let cursor: string | null | undefined; cursor !== null;) {
          const step = { limit: STEP, ...(cursor !== undefined && { cursor }) }
          const projects = yield* chain(storage.credentials.listProjects(step))
          for (const project of projects.data) {
            const { id } = project
            all.push({ ...project, ...workOf(messages.get(id), deliveries.get(id)) })
          }
          cursor = projects.nextCursor
        }
        const page = badFirst(all, isBad, asked)
        const to = startOf(now, DAY_MS)
        const days = {
          subject: 'project',
          stepMs: DAY_MS,
          from: to - (DAYS - 1) * DAY_MS,
          to,
        } as const
        const data: ProjectOverview[] = []
        for (const project of page.data) {
          const rows = yield* chain(storage.counts.read({ ...days, projectId: project.id }))
          data.push({ ...project, usage: sumsOf(totalOf(rows)) })
        }
        return ok({ ...page, data })
      }),
    )

const isBad = ({ failingWebhooks, heldDeliveries }: Work) => failingWebhooks + heldDeliveries > 0

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

function workOf(messages?: MessageBacklog, deliveries?: DeliveryBacklog): Work {
  const { queued = 0, running = 0, deferred = 0, inputRequired = 0 } = messages ?? {}
  const openMessages = queued + running + deferred + inputRequired
  if (!deliveries) return { openMessages, openDeliveries: 0, heldDeliveries: 0, failingWebhooks: 0 }
  const { open, oldestDueAt, held, disabledWebhooks, openCircuits, halfOpenCircuits } = deliveries
  return {
    openMessages,
    openDeliveries: open,
    heldDeliveries: sum(Object.values(held).map(({ count }) => count)),
    failingWebhooks: disabledWebhooks + openCircuits + halfOpenCircuits,
    ...(oldestDueAt !== undefined && { oldestDueAt }),
  }
}
