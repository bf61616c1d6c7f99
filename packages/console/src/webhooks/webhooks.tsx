import type { ByActor, MessagingService, Webhook } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { detailsOf } from '../deliveries/delivery-table.js'
import { webhookRef, byActor } from '../parts/input.js'
import { show, showError } from '../parts/layout.js'
import type { ConsoleDeps, Env } from '../context.js'
import { BASE } from '../options.js'
import { CopyButton, pathOf } from '../parts/parts.js'
import { problemText } from '../parts/problem.js'
import { need } from '../access/sign-in.js'
import { fieldsIn, settingsOf } from './webhook-form.js'
import { readWebhookActivity } from './webhook-activity.js'
import { readFilter } from './webhook-filter-form.js'
import { listPage } from './webhook-list.js'
import { WebhookPage } from './webhook-page.js'

const MAX_RECENT = 10

export const webhookRoutes = (d: ConsoleDeps) => {
  const { service } = d
  const mayManage = need('project:webhooks')
  return new Hono<Env>()
    .get(`${BASE}/webhooks`, mayManage, (c) => listPage(c, d))

    .post(`${BASE}/webhooks`, mayManage, async (c) => {
      const fields = fieldsIn(await c.req.parseBody({ all: true }))
      const created = await service.webhooks.create({
        actor: c.get('actor'),
        ...settingsOf(fields),
        ...(await readFilter(service, c.get('apiKey').projectId, fields)),
        projectId: c.get('apiKey').projectId,
      })
      if (created.isErr()) return listPage(c, d, { ...fields, problem: problemText(created.error) })
      return secretPage(c, created.value.webhook, created.value.secret, 'Webhook registered')
    })

    .get(`${BASE}/webhooks/:id`, mayManage, async (c) => {
      const ref = webhookRef(c)
      const found = await safeTry(async function* () {
        const webhook = yield* service.webhooks.get(ref)
        const { data } = yield* service.deliveries.list(ref, { limit: MAX_RECENT })
        const recent = yield* readWebhookActivity(service, ref)
        return ok({ webhook, deliveries: yield* detailsOf(service, data), recent })
      })
      if (found.isErr()) return showError(c, found.error)
      const { webhook } = found.value
      return show(
        c,
        { title: webhook.description ?? webhook.url, section: 'Webhooks' },
        <WebhookPage
          {...found.value}
          limit={service.webhooks.limitOf(found.value.webhook)}
          now={service.now()}
          path={pathOf(c)}
        />,
      )
    })

    .post(`${BASE}/webhooks/:id/rotate`, mayManage, async (c) => {
      const rotated = await service.webhooks.rotateSecret(byActor(c, webhookRef(c)))
      if (rotated.isErr()) return showError(c, rotated.error)
      return secretPage(c, rotated.value.webhook, rotated.value.secret, 'Secret rotated')
    })

    .post(
      `${BASE}/webhooks/:id/:action{test|pause|resume|disable|enable|finish}`,
      mayManage,
      async (c) => {
        const ref = byActor(c, webhookRef(c))
        const { notice, act } = actions(service)[c.req.param('action') as ActionName]
        const done = await act(ref)
        if (done.isErr()) return showError(c, done.error)
        return c.redirect(`${BASE}/webhooks/${ref.webhookId}?notice=${notice}`, 303)
      },
    )
}

type ActionName = keyof ReturnType<typeof actions>

const actions = ({ webhooks }: MessagingService) => {
  const pause = (ref: WebhookRef, paused: boolean) =>
    webhooks.update({ ...ref, change: { paused } })
  return {
    test: { notice: 'tested', act: webhooks.sendTestEvent },
    pause: { notice: 'paused', act: (ref: WebhookRef) => pause(ref, true) },
    resume: { notice: 'resumed', act: (ref: WebhookRef) => pause(ref, false) },
    disable: { notice: 'disabled', act: webhooks.disable },
    enable: { notice: 'enabled', act: webhooks.enable },
    finish: { notice: 'finished', act: webhooks.finishRotation },
  }
}

type WebhookRef = ReturnType<typeof webhookRef> & ByActor

/** Shows a new secret. No other page shows secrets. */
const secretPage = (c: Context<Env>, webhook: Webhook, secret: string, title: string) =>
  show(
    c,
    { title, section: 'Webhooks' },
    <div class="narrow card" data-address={`${BASE}/webhooks/${webhook.id}`}>
      <h1>{title}</h1>
      <p>
        This secret signs the deliveries to <span class="url">{webhook.url}</span>. Copy the secret
        to your receiver now. The secret is shown <strong>only once</strong>.
      </p>
      <p class="secret">
        <code id="secret">{secret}</code>
        <CopyButton text={secret} what="secret" />
      </p>
      {webhook.previousSecret && (
        <p class="muted">
          The old secret signs deliveries too for one day, so that you can update your receiver
          without losing any.
        </p>
      )}
      <p>
        <a class="button" href={`${BASE}/webhooks/${webhook.id}`}>
          Done
        </a>
      </p>
    </div>,
  )
