import type { MessagingService, Webhook } from '@org/agent-messaging-core'
import { orUndefined, errorIn, webhookSettings, type ByActor } from '@org/agent-messaging-core/host'
import { detailsOf } from '../deliveries/delivery-table.js'
import { byActor, idIn, projectIn, textIn, webhookRef } from '../parts/input.js'
import { goTo, secretPage, show, showDone, need } from '../parts/layout.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { problemText } from '../parts/texts.js'
import {
  fieldsIn,
  filterTexts,
  readFilter,
  settingsOf,
  type WebhookDraft,
  WebhookForm,
} from './webhook-form.js'
import { chosenEvents, eventPage, eventsPage, sampleIn, TestForm } from './events.js'
import { webhooksPage } from './webhook-list.js'
import { readWebhookActivity, WebhookPage } from './webhook-page.js'
import { Verification } from './verification.js'
import { canListAgents } from '../agents.js'
import { textsOf } from '../parts/fields.js'

const MAX_RECENT = 10

export const webhookRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const maySee = need('webhooks.list')
  const mayManage = need('webhooks.update')
  return newRoutes()
    .get('/webhooks', maySee, (c) => webhooksPage(c, d))

    .post('/webhooks', mayManage, async (c) => {
      const fields = fieldsIn(await c.req.parseBody({ all: true }))
      const creating = service.webhooks.create({
        actor: c.get('actor'),
        ...settingsOf(fields),
        events: chosenEvents(c, fields.events),
        ...(await readFilter(service, projectIn(c), fields)),
        projectId: projectIn(c),
      })
      return creating.then(
        (created) => webhookSecretPage(c, created, 'Webhook registered'),
        (thrown) => webhooksPage(c, d, { ...fields, problem: problemText(errorIn(thrown)) }),
      )
    })

    .get('/webhooks/events', maySee, eventsPage)
    .get('/webhooks/events/:name', maySee, (c) => eventPage(c, d))

    .get('/webhooks/:id', maySee, async (c) => {
      const ref = webhookRef(c)
      const webhook = await service.webhooks.get(ref)
      const { data } = await service.deliveries.list({ ...ref, limit: MAX_RECENT })
      const recent = await readWebhookActivity(service, ref)
      const tested = await testIn(c, service, ref)
      const deliveries = await detailsOf(service, data)
      const limit = service.host.limitOf(webhook)
      return show(
        c,
        {
          title: webhook.description ?? webhook.url,
          section: 'Webhooks',
          crumb: 'webhook',
        },
        <WebhookPage {...{ webhook, tested, deliveries, recent, limit }} />,
      )
    })

    .post('/webhooks/:id/rotate', mayManage, async (c) => {
      const rotated = await service.webhooks.rotateSecret(byActor(c, webhookRef(c)))
      return webhookSecretPage(c, rotated, 'Secret rotated')
    })

    .post('/webhooks/:id/test', mayManage, async (c) => {
      const ref = webhookRef(c)
      const event = sampleIn(c, await c.req.parseBody())
      const { id } = await service.webhooks.sendTestEvent({ ...ref, event })
      return goTo(c, `/webhooks/${ref.webhookId}?test=${id}`)
    })

    .post('/webhooks/:id/:action{pause|resume|disable|enable|finish}', mayManage, async (c) => {
      const ref = byActor(c, webhookRef(c))
      const { notice, act } = actions(service)[c.req.param('action') as ActionName]
      await act(ref)
      return goTo(c, `/webhooks/${ref.webhookId}?notice=${notice}`)
    })
}

/** Returns the test event that the address names, if the event belongs to the webhook. */
async function testIn(c: PageRequest, { deliveries }: MessagingService, ref: WebhookRef) {
  const id = c.req.query('test')
  if (id === undefined) return undefined
  const { projectId, webhookId } = ref
  const found = await orUndefined(deliveries.get({ projectId, deliveryId: idIn(id) }))
  return found?.delivery.webhookId === webhookId ? found : undefined
}

type ActionName = keyof ReturnType<typeof actions>

const actions = ({ webhooks }: MessagingService) => {
  const pause = (ref: WebhookRef, paused: boolean) =>
    webhooks.update({ ...ref, change: { paused } })
  return {
    pause: { notice: 'paused', act: (ref: WebhookRef) => pause(ref, true) },
    resume: { notice: 'resumed', act: (ref: WebhookRef) => pause(ref, false) },
    disable: { notice: 'disabled', act: webhooks.disable },
    enable: { notice: 'enabled', act: webhooks.enable },
    finish: { notice: 'finished', act: webhooks.finishRotation },
  }
}

type WebhookRef = ReturnType<typeof webhookRef> & ByActor

type NewSecret = { readonly webhook: Webhook; readonly secret: string }

function webhookSecretPage(c: PageRequest, { webhook, secret }: NewSecret, title: string) {
  const path = `${BASE}/webhooks/${webhook.id}`
  return secretPage(
    c,
    { title, section: 'Webhooks', path, secret, what: 'secret' },
    <p>
      This secret signs the deliveries to <span class="url">{webhook.url}</span>. Copy the secret to
      your receiver now. The secret is shown <strong>only once</strong>.
    </p>,
    <>
      {webhook.previousSecret && (
        <p class="muted">
          The old secret signs deliveries too for one day, so that you can update your receiver
          without losing any.
        </p>
      )}
      <Verification />
      <div class="buttons">
        {webhook.status.kind === 'enabled' && <TestForm webhookId={webhook.id} />}
        <a class="button" href={path}>
          Done
        </a>
      </div>
    </>,
  )
}

/**
 * Changes a webhook, except its secret and headers. A URL on another origin requires that
 * the headers are removed.
 */
export const webhookEditRoutes = ({ service }: ConsoleDeps) => {
  const mayManage = need('webhooks.update')
  return newRoutes()
    .get('/webhooks/:id/edit', mayManage, async (c) => {
      const webhook = await service.webhooks.get(webhookRef(c))
      const agent = await shownAgent(c, service, webhook.filter?.agentId)
      return editPage(c, webhook.id, draftOf(webhook, agent))
    })

    .post('/webhooks/:id/edit', mayManage, async (c) => {
      const ref = webhookRef(c)
      const form = await c.req.parseBody({ all: true })
      const fields = fieldsIn(form)
      const headers = textIn(form, 'dropHeaders') === 'yes' ? { headers: null } : {}
      const before = await orUndefined(service.webhooks.get(ref))
      const changed = service.webhooks.update({
        ...byActor(c, ref),
        change: {
          ...settingsOf(fields),
          events: chosenEvents(c, fields.events, before?.events),
          ...headers,
          ...(await readFilter(service, ref.projectId, fields)),
        },
      })
      return showDone(
        c,
        changed,
        `/webhooks/${ref.webhookId}?notice=webhookChanged`,
        (error) =>
          error.kind === 'invalid' &&
          editPage(c, ref.webhookId, {
            ...fields,
            problem: problemText(error),
            hasHeaders: error.issues.some(({ path }) => path === 'headers'),
          }),
      )
    })
}

/** Returns the name of the agent if the API key can list agents, and otherwise its id. */
async function shownAgent(
  c: PageRequest,
  { agents }: ConsoleDeps['service'],
  agentId: string | undefined,
) {
  if (agentId === undefined || !canListAgents(c)) return agentId ?? ''
  const agent = await orUndefined(agents.get({ projectId: projectIn(c), agent: agentId }))
  return agent?.name ?? agentId
}

const draftOf = (webhook: Webhook, agent: string): WebhookDraft => ({
  url: webhook.url,
  events: webhook.events,
  texts: textsOf(webhookSettings, { ...webhook, ...webhook.sending }),
  hasFilter: true,
  ...filterTexts(webhook.filter, agent),
})

const editPage = (c: PageRequest, id: string, draft: WebhookDraft) =>
  show(
    c,
    {
      title: 'Edit webhook',
      section: 'Webhooks',
      problem: draft.problem,
    },
    <section class="narrow card" aria-labelledby="edit">
      <h1 id="edit">Edit webhook</h1>
      <WebhookForm action={`${BASE}/webhooks/${id}/edit`} draft={draft} button="Save">
        <a class="button" href={`${BASE}/webhooks/${id}`}>
          Cancel
        </a>
      </WebhookForm>
    </section>,
  )
