import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type DeliveryFilter, type MessagingService } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { deliveryFilter, filterIn, type Filter } from './filter.js'
import { idIn, textIn, webhookRef } from './input.js'
import { show, showError } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { Progress, RecoverPreview, type Matching } from './recover-page.js'
import { need } from './sign-in.js'

/** Deliveries of one step. The page shows its progress after each step. */
const STEP = 200
const COUNT_PAGE = 1_000
const MAX_COUNT_PAGES = 10

const countOf = (value: unknown): number => Math.max(0, Math.trunc(Number(value)) || 0)

/**
 * Redelivers the deliveries that match a filter. The first page shows how many match. Then each
 * step redelivers a part and shows the progress. Without scripts, a button starts the next step.
 */
export const recoverRoutes = ({ service }: ConsoleDeps) => {
  const mayManage = need('project:webhooks')
  return new Hono<Env>()
    .get(`${BASE}/webhooks/:id/recover`, mayManage, async (c) => {
      const { projectId } = c.get('apiKey')
      const filter = recoverFilter(c.req.query())
      const found = await safeTry(async function* () {
        const webhook = yield* service.webhooks.get({
          projectId,
          webhookId: idIn(c.req.param('id')),
        })
        return ok({
          webhook,
          matching: yield* countMatching(service, {
            ...deliveryFilter(projectId, filter),
            webhookId: webhook.id,
          }),
        })
      })
      if (found.isErr()) return showError(c, found.error)
      return show(
        c,
        { title: 'Recover', section: 'Webhooks' },
        <RecoverPreview {...found.value} filter={filter} />,
      )
    })

    .post(`${BASE}/webhooks/:id/recover`, mayManage, async (c) => {
      const form = await c.req.parseBody()
      const ref = webhookRef(c)
      const filter = recoverFilter(form)
      const { projectId: _, ...selected } = deliveryFilter(ref.projectId, filter)
      const cursor = textIn(form, 'cursor')
      const page = { limit: STEP, ...(isUuid(cursor) && { cursor }) }
      const done = await service.deliveries.recover({ ...ref, filter: selected, page })
      if (done.isErr()) return showError(c, done.error)
      const { count, nextCursor } = done.value
      const progress = {
        webhookId: ref.webhookId,
        filter,
        nextCursor,
        total: countOf(form['total']),
        checked: countOf(form['checked']) + STEP,
        count: countOf(form['count']) + count,
      }
      return show(c, { title: 'Recover', section: 'Webhooks' }, <Progress {...progress} />)
    })
}

/** Selects exhausted deliveries by default. The webhook comes from the path. */
const recoverFilter = (fields: Readonly<Record<string, unknown>>): Filter => {
  const filter = filterIn({ ...fields, webhook: undefined })
  return { ...filter, status: filter.status ?? 'exhausted' }
}

/** Counts up to 10,000 deliveries, 1,000 at a time. Between two pages, other requests can run. */
const countMatching = (service: MessagingService, filter: DeliveryFilter) =>
  safeTry(async function* () {
    let count = 0
    let cursor: string | undefined
    for (let pages = 0; pages < MAX_COUNT_PAGES; pages++) {
      const page = { limit: COUNT_PAGE, ...(cursor !== undefined && { cursor }) }
      const { data, nextCursor } = yield* service.deliveries.list(filter, page)
      count += data.length
      if (nextCursor === null) return ok<Matching>({ count, isAll: true })
      cursor = nextCursor
      await yieldToEventLoop()
    }
    return ok<Matching>({ count, isAll: false })
  })
