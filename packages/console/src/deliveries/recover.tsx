import { MessagingError, type Recovery } from '@org/agent-messaging-core'
import { orUndefined } from '@org/agent-messaging-core/host'
import { countMatching } from '../parts/parts.js'
import { deliveryFilter, type Filter, filterIn } from '../parts/filter.js'
import { byActor, can, type Form, projectIn, recoveryRef, textIn } from '../parts/input.js'
import { goTo, show, showProblem, need } from '../parts/layout.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import {
  RecoverForm,
  Recoveries,
  RecoverPreview,
  RecoveryPage,
  ReplayForm,
  webhooksIn,
} from './recover-form.js'
import { zoneOf } from '../parts/zone.js'

const MAX_WEBHOOKS = 100
const MAX_RECOVERIES = 10

/**
 * Redelivers the deliveries that match a filter, of one webhook or of all. The first page shows how
 * many match. A button starts the recovery, whose page shows its progress.
 */
export const recoverRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const maySee = need('recoveries.list')
  const mayStart = need('recoveries.start')
  const shownRecovery = async (c: PageRequest) => {
    const recovery = await service.recoveries.get(recoveryRef(c))
    if (isHidden(c, recovery)) throw new MessagingError({ kind: 'recovery_not_found' })
    return recovery
  }
  return newRoutes()
    .get('/recover', maySee, (c) => recoverPage(c, d))

    .post('/recover', mayStart, async (c) => {
      const projectId = projectIn(c)
      const form = await c.req.parseBody()
      const filter = recoverFilter(form, zoneOf(c))
      const lost = form['status'] === filter.status ? lostField(form, filter) : 'status'
      if (lost !== undefined)
        return showProblem(c, 400, `The field ${lost} cannot select deliveries. Count them again`)
      const { id } = await service.recoveries.start({
        actor: c.get('actor'),
        projectId,
        filter: deliveryFilter(filter),
        tryFirst: textIn(form, 'try') === 'first',
      })
      const total = textIn(form, 'total')
      const query = /^\d{1,9}$/.test(total) ? `?total=${total}` : ''
      return goTo(c, `/recoveries/${id}${query}`)
    })

    .post('/recover/events', mayStart, (c) => sendEvents(c, d))

    .get('/recoveries/:id', maySee, async (c) => {
      const total = Number(c.req.query('total'))
      const { projectId, recoveryId } = recoveryRef(c)
      const origin = d.publicUrl() ?? new URL(c.req.url).origin
      const address = `${origin}${BASE}/recoveries/${recoveryId}`
      const recovery = await shownRecovery(c)
      const [webhookId = ''] = webhooksIn(recovery.filter)
      const webhook =
        webhookId && (await orUndefined(service.webhooks.get({ projectId, webhookId })))
      return show(
        c,
        { title: 'Recovery', section: 'Deliveries' },
        <RecoveryPage
          recovery={recovery}
          webhook={webhook}
          address={c.get('portal') ? undefined : address}
          total={Number.isSafeInteger(total) && total > 0 ? total : undefined}
        />,
      )
    })

    .post('/recoveries/:id/cancel', mayStart, async (c) => {
      await shownRecovery(c)
      const ref = recoveryRef(c)
      await service.recoveries.cancel(byActor(c, ref))
      return goTo(c, `/recoveries/${ref.recoveryId}?notice=cancelled`)
    })

    .post('/recoveries/:id/continue', mayStart, async (c) => {
      await shownRecovery(c)
      const ref = recoveryRef(c)
      await service.recoveries.continue(byActor(c, ref))
      return goTo(c, `/recoveries/${ref.recoveryId}`)
    })
}

/** Retries of messages are recoveries too. A customer without messages sees none of them. */
const isHidden = (c: PageRequest, { filter }: Recovery) =>
  filter.agentId !== undefined && c.get('portal') !== undefined && !can(c, 'messages.list')

async function recoverPage(c: PageRequest, { service }: ConsoleDeps) {
  const projectId = projectIn(c)
  const filter = recoverFilter(c.req.query(), zoneOf(c))
  const chosen =
    filter.webhook === undefined
      ? undefined
      : await service.webhooks.get({ projectId, webhookId: filter.webhook })
  const { data } = await service.webhooks.list({ projectId, limit: MAX_WEBHOOKS })
  const others = data.filter(({ id }) => id !== chosen?.id)
  const webhooks = chosen ? [chosen, ...others] : data
  // A recovery leaves out the deliveries of hooks.
  const selected = { projectId, withoutHooks: true, ...deliveryFilter(filter) }
  const matching = await countMatching(service, selected)
  const recoveries = await service.recoveries.list({ projectId, limit: MAX_RECOVERIES })
  return show(
    c,
    { title: 'Recover deliveries', section: 'Deliveries' },
    <>
      <h1>Recover deliveries</h1>
      <p class="muted">
        Sends old deliveries again after a receiver was fixed. They keep their ids and bodies.
      </p>
      <RecoverForm filter={filter} webhooks={webhooks} />
      <RecoverPreview filter={filter} webhooks={webhooks} matching={matching} />
      <ReplayForm webhooks={webhooks} />
      <Recoveries
        recoveries={recoveries.data.filter((one) => !isHidden(c, one))}
        webhooks={webhooks}
      />
    </>,
  )
}

/** Starts a recovery that sends events, and never more than the form names. */
async function sendEvents(c: PageRequest, { service }: ConsoleDeps) {
  const form = await c.req.parseBody()
  const filter = filterIn(form, zoneOf(c))
  const { webhook = '', from: createdAfter, to: createdBefore } = filter
  const lost = lostField(form, filter)
  if (createdAfter === undefined || lost !== undefined)
    return showProblem(c, 400, `The field ${lost ?? 'from'} cannot select events`)
  const type = textIn(form, 'type').trim()
  const { id } = await service.recoveries.start({
    actor: c.get('actor'),
    projectId: projectIn(c),
    events: {
      webhookIds: [webhook],
      ...(type !== '' && { types: [type] }),
      createdAfter,
      createdBefore,
    },
  })
  return goTo(c, `/recoveries/${id}`)
}

/** Selects exhausted deliveries by default. */
const recoverFilter = (fields: Form, zone: string): Filter => {
  const filter = filterIn({ ...fields, message: undefined }, zone)
  return { ...filter, status: filter.status ?? 'exhausted' }
}

const SELECTING = ['webhook', 'message', 'event', 'answer', 'from', 'to'] as const

/**
 * Returns a field that the filter ignores, so that a recovery never sends more than the form names.
 */
const lostField = (form: Form, filter: Filter): keyof Filter | undefined =>
  SELECTING.find((name) => (form[name] ?? '') !== '' && filter[name] === undefined)
