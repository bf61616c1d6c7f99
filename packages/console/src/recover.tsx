import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type DeliveryFilter, type MessagingService } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { deliveryFilter, filterIn, type Filter } from './filter.js'
import { idIn, recoveryRef, webhookRef } from './input.js'
import { show, showError } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { pathOf } from './parts.js'
import { RecoverPreview, RecoveryPage, type Matching } from './recover-page.js'
import { need } from './sign-in.js'

const COUNT_PAGE = 1_000
const MAX_COUNT_PAGES = 10

/**
 * Redelivers the deliveries that match a filter. The first page shows how many match. A button
 * starts the recovery, whose page shows its progress.
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
      const { projectId, webhookId } = webhookRef(c)
      const { projectId: _, ...filter } = deliveryFilter(
        projectId,
        recoverFilter(await c.req.parseBody()),
      )
      const started = await service.recoveries.start({
        projectId,
        filter: { ...filter, webhookId },
      })
      if (started.isErr()) return showError(c, started.error)
      return c.redirect(`${BASE}/recoveries/${started.value.id}`, 303)
    })

    .get(`${BASE}/recoveries/:id`, mayManage, async (c) => {
      const found = await service.recoveries.get(recoveryRef(c))
      if (found.isErr()) return showError(c, found.error)
      return show(
        c,
        { title: 'Recovery', section: 'Webhooks' },
        <RecoveryPage recovery={found.value} now={service.now()} path={pathOf(c)} />,
      )
    })

    .post(`${BASE}/recoveries/:id/cancel`, mayManage, async (c) => {
      const ref = recoveryRef(c)
      const cancelled = await service.recoveries.cancel(ref)
      if (cancelled.isErr()) return showError(c, cancelled.error)
      return c.redirect(`${BASE}/recoveries/${ref.recoveryId}?notice=cancelled`, 303)
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
