import { isUuid } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { deliveryFilter, filterIn } from './filter.js'
import { textIn } from './form.js'
import { show, showProblem } from './layout.js'
import { BASE, type ConsoleDeps, type Env } from './options.js'
import { idIn } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { need } from './sign-in.js'

/** So many are looked at in one step: between two of them the page shows how far it has come. */
const STEP = 200

const countOf = (value: unknown): number => Math.max(0, Math.trunc(Number(value)) || 0)

/** Redelivers what matches a filter, page by page; the page goes on by itself, or by a button where there is no script. */
export const recoverRoutes = ({ service }: ConsoleDeps) =>
  new Hono<Env>().post(`${BASE}/webhooks/:id/recover`, need('project:webhooks'), async (c) => {
    const form = await c.req.parseBody()
    const webhookId = idIn(c.req.param('id'))
    const { projectId, ...filter } = deliveryFilter(c.get('apiKey').projectId, filterIn({ ...form, webhook: undefined }))
    const cursor = textIn(form, 'cursor')
    const page = { limit: STEP, ...(isUuid(cursor) && { cursor }) }
    const done = await service.deliveries.recover({ projectId, webhookId, filter, page })
    if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
    const { count, nextCursor } = done.value
    const step = { steps: countOf(form['steps']) + 1, count: countOf(form['count']) + count, nextCursor }
    const fields = {
      ...Object.fromEntries(FIELDS.map((name) => [name, textIn(form, name)])),
      steps: String(step.steps),
      count: String(step.count),
    }
    return show(c, { title: 'Recover', section: 'Webhooks' }, <Progress webhookId={webhookId} {...step} fields={fields} />)
  })

const FIELDS = ['status', 'event', 'answer', 'from', 'to']

type ProgressProps = {
  readonly webhookId: string
  readonly steps: number
  readonly count: number
  readonly nextCursor: string | null
  readonly fields: Readonly<Record<string, string>>
}

function Progress({ webhookId, steps, count, nextCursor, fields }: ProgressProps) {
  const address = `${BASE}/webhooks/${webhookId}`
  const goesOn = {
    'hx-post': `${address}/recover`,
    'hx-trigger': 'load delay:200ms',
    'hx-select': '#recover',
    'hx-target': '#recover',
    'hx-swap': 'outerHTML',
  }
  return (
    <div class="narrow card" id="recover" data-address={address}>
      <h1>Recover</h1>
      <p role="status" class="big">
        {count.toLocaleString('en')} {count === 1 ? 'delivery is' : 'deliveries are'} sent again
      </p>
      {nextCursor === null ? (
        <>
          <p class="muted">
            {count === 0
              ? 'Nothing matched, or all of it was being sent already.'
              : 'That was all. The webhook is sent to no faster than ever.'}
          </p>
          <p>
            <a class="button" href={address}>
              Go to the webhook
            </a>
          </p>
        </>
      ) : (
        <form method="post" action={`${address}/recover`} {...goesOn}>
          {Object.entries({ ...fields, cursor: nextCursor }).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <p class="muted">{steps * STEP} looked at so far; there are more.</p>
          <button>Go on</button>
        </form>
      )}
    </div>
  )
}
