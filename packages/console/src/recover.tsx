import { setImmediate as turn } from 'node:timers/promises'
import { type DeliveryFilter, type MessagingService } from '@org/agent-messaging-core'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { deliveryFilter, filterIn, type Filter } from './filter.js'
import { textIn } from './form.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { idIn } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { Asking, Progress, type Matching } from './recover-page.js'
import { need } from './sign-in.js'

/** So many are looked at in one step: between two of them the page shows how far it has come. */
const STEP = 200
const COUNTED_AT_ONCE = 1_000
const MOST_COUNTS = 10

const countOf = (value: unknown): number => Math.max(0, Math.trunc(Number(value)) || 0)

/**
 * Redelivers what matches a filter. First a page that counts what matches; then page by page, with how far it has come: by itself,
 * or by a button where there is no script.
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
      if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
      return show(
        c,
        { title: 'Recover', section: 'Webhooks' },
        <Asking {...found.value} filter={filter} />,
      )
    })

    .post(`${BASE}/webhooks/:id/recover`, mayManage, async (c) => {
      const form = await c.req.parseBody()
      const webhookId = idIn(c.req.param('id'))
      const filter = recoverFilter(form)
      const { projectId, ...which } = deliveryFilter(c.get('apiKey').projectId, filter)
      const cursor = textIn(form, 'cursor')
      const page = { limit: STEP, ...(isUuid(cursor) && { cursor }) }
      const done = await service.deliveries.recover({ projectId, webhookId, filter: which, page })
      if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
      const { count, nextCursor } = done.value
      const progress = {
        ...{ webhookId, filter, nextCursor, total: countOf(form['total']) },
        ...{ looked: countOf(form['looked']) + STEP, count: countOf(form['count']) + count },
      }
      return show(c, { title: 'Recover', section: 'Webhooks' }, <Progress {...progress} />)
    })
}

/** Which webhook is in the address; those that were given up are meant unless told otherwise. */
const recoverFilter = (fields: Readonly<Record<string, unknown>>): Filter => {
  const filter = filterIn({ ...fields, webhook: undefined })
  return { ...filter, status: filter.status ?? 'exhausted' }
}

/** Up to ten thousand of them, a thousand at a time: a storage that answers at once would hold up everybody else with all of them. */
const countMatching = (service: MessagingService, filter: DeliveryFilter) =>
  safeTry(async function* () {
    let count = 0
    let cursor: string | undefined
    for (let counts = 0; counts < MOST_COUNTS; counts++) {
      const page = { limit: COUNTED_AT_ONCE, ...(cursor !== undefined && { cursor }) }
      const { data, nextCursor } = yield* service.deliveries.list(filter, page)
      count += data.length
      if (nextCursor === null) return ok<Matching>({ count, isAll: true })
      cursor = nextCursor
      await turn()
    }
    return ok<Matching>({ count, isAll: false })
  })
